"""The settings of a simulation."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

#: Settings that are specifications, and the registry groups of these.
SPECIFICATIONS = {"runtime_model": "runtime_models", "outages": "outages"}


class Overrun(StrEnum):
    """Treatment of a job that reaches its requested time."""

    KILL = "kill"
    """It ends there."""
    EXTEND = "extend"
    """It runs on for as long as the log says (as in AccaSim)."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """
    Settings of a simulation: time limits, restarts, runtimes, outages and seed.

    Attributes
    ----------
    overrun
        Treatment of jobs at their requested time: ``kill``, or ``extend`` (they run for as long as
        in the log).
    estimate_correction
        Expected end of a running job after its predicted end: ``requested`` (at its requested time)
        or ``double`` (after twice the time expected so far).
    dispatch_interval
        Seconds between decisions. None: the dispatcher's own
        (:attr:`~cpsched.dispatch.contract.Dispatcher.interval`), which most do not have. The
        settings of a finished run have the value that applied.
    enforce_time_limits
        Whether jobs that ask for more time than their queue allows are rejected. For a workload
        that is already mapped onto a system, the setting of that mapping applies.
    restarts
        Jobs that may be restarted, ``share=0.5,cost=30,checkpoint=600`` (see
        :class:`~cpsched.systems.mapping.settings.RestartOptions`). ``none``: as in the log. A
        mapped workload has its own setting.
    malleable
        Jobs that may change size, ``share=0.5,least=0.5,most=2`` (see
        :class:`~cpsched.systems.mapping.settings.MalleableOptions`). ``none``: as in the log. A
        mapped workload has its own setting.
    runtime_model
        Name and options of the model of runtimes, such as ``amdahl:serial=0.1`` (``cpsched list
        runtime_models``).
    outages
        Name and options of the model of node outages, such as ``random:mtbf=1000000`` (``cpsched
        list outages``).
    seed
        Seed from which dispatcher, predictor, runtime model and outages each get their own.
    """

    overrun: str = "kill"
    estimate_correction: str = "requested"
    dispatch_interval: int | None = None
    enforce_time_limits: bool = True
    restarts: str = "none"
    malleable: str = "none"
    runtime_model: str = "recorded"
    outages: str = "none"
    seed: int = 0

    @property
    def mapping(self) -> dict[str, Any]:
        """The settings that are also arguments of :func:`cpsched.systems.mapping.fit`, by name."""
        return {
            name: getattr(self, name) for name in ("enforce_time_limits", "restarts", "malleable")
        }
