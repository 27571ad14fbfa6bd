"""
The one module that imports AccaSim. It has no types, so those that we rely on are declared here.

AccaSim keeps one set of constants for a whole process and clears it when a simulation ends, so a
process can run only one at a time, and an interrupted one leaves its own behind.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from accasim_adapter import mending
from cpsched.api.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: The release that the adapter is written for and tested with.
VERSION = "1.1.3"


class Event(Protocol):
    """
    A job of AccaSim: the attributes that may be read, and when.

    It also has the true ``duration`` from the beginning, which is never read here.

    Attributes
    ----------
    id, queued_time, requested_nodes, requested_resources, expected_duration
        From the moment it is queued. ``requested_nodes`` counts units: several may share a node.
    start_time, assigned_nodes
        Once it has started.
    end_time
        Once it has ended, None until then.
    """

    id: str
    queued_time: int
    requested_nodes: int
    requested_resources: Mapping[str, int]
    expected_duration: int
    start_time: int | None
    end_time: int | None
    assigned_nodes: Sequence[str]


def _load(module: str, name: str) -> Any:
    mending.install()
    try:
        return getattr(import_module(f"accasim.{module}"), name)
    except ImportError as error:
        raise ConfigError(
            f"AccaSim cannot be imported ({error}); install it with: pip install 'cpsched[accasim]'"
        ) from error


SchedulerBase: Any = _load("base.scheduler_class", "SchedulerBase")
JobVerification: Any = _load("base.scheduler_class", "JobVerification")
AdditionalData: Any = _load("base.additional_data", "AdditionalData")
Reader: Any = _load("utils.reader_class", "Reader")
JobFactory: Any = _load("base.event_class", "JobFactory")
AttributeType: Any = _load("base.event_class", "AttributeType")
Simulator: Any = _load("base.simulator_class", "Simulator")
Resources: Any = _load("base.resource_manager_class", "Resources")
ResourceManager: Any = _load("base.resource_manager_class", "ResourceManager")
