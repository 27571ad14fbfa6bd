"""
The one module that imports AccaSim, which has no types.

AccaSim keeps one set of constants for a whole process and clears it when a simulation ends, so a
process can run only one at a time, and an interrupted one leaves its own behind.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, TypeAlias

from accasim_adapter import mending
from cpsched.errors import ConfigError

#: A job of AccaSim. When it is queued, ``id``, ``queued_time``, ``requested_nodes`` (units: several
#: may share a node), ``requested_resources`` and ``expected_duration`` may be read; once it has
#: started ``start_time`` and ``assigned_nodes``; once it has ended ``end_time``. It has the true
#: ``duration`` from the beginning, too, which is never read here.
Event: TypeAlias = Any


def _load(module: str, name: str) -> Any:
    mending.install()
    try:
        return getattr(import_module(f"accasim.{module}"), name)
    except ImportError as error:
        raise ConfigError(
            f"AccaSim cannot be imported ({error}). Install it with: pip install 'cpsched[accasim]'"
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
