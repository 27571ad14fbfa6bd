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
    Settings of a simulation, see :class:`~cpsched.simulation.simulator.Simulator`.

    Attributes
    ----------
    overrun
        Treatment of jobs at their requested time, see :class:`Overrun`.
    estimate_correction
        Expected end of a job that outlives its prediction: ``requested`` or ``double``.
    dispatch_interval
        Seconds between decisions. None: the dispatcher's own
        (:attr:`~cpsched.dispatch.contract.Dispatcher.interval`), which most do not have. The
        settings of a finished run have the value that applied.
    enforce_time_limits
        Whether jobs that ask for more time than their queue allows are rejected. For a workload
        that is already mapped, the mapping decided this, and a finished run's settings have it.
    restarts
        Jobs that may be restarted, ``share=0.5,cost=30,checkpoint=600`` (see
        :class:`~cpsched.systems.mapping.settings.RestartOptions`). ``none``: as in the log. The
        mapping decides it, as for ``enforce_time_limits``.
    malleable
        Jobs that may change size, ``share=0.5,least=0.5,most=2`` (see
        :class:`~cpsched.systems.mapping.settings.MalleableOptions`). The mapping decides it.
    runtime_model
        Specification of the runtimes of jobs, see
        :class:`~cpsched.simulation.runtime_models.RuntimeModel`.
    outages
        Specification of the outages of nodes, see
        :class:`~cpsched.simulation.outages.OutageModel`.
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
        """Settings of :func:`cpsched.systems.mapping.fit`."""
        return {
            name: getattr(self, name) for name in ("enforce_time_limits", "restarts", "malleable")
        }
