"""Simulations and what they record, to be compared with each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reference import planned

from cpsched.base.spec import build
from cpsched.simulation.observers import Observer
from cpsched.simulation.record import AllocationRecorder, DecisionRecorder
from cpsched.simulation.run import schedule_of
from cpsched.simulation.simulator import Simulator

if TYPE_CHECKING:
    from cpsched.mapping import Fitted


class Plans(Observer):
    """Keeps (second, planned start of each job) of every decision that plans anything."""

    def __init__(self) -> None:
        self.plans: list[tuple[int, dict[int, int]]] = []

    def on_decision(self, view: Any, decision: Any, seconds: float) -> None:
        """Note a plan."""
        if decision.planned_starts:
            self.plans.append((view.now, planned(decision)))

    def of(self, handle: int) -> list[tuple[int, int]]:
        """Return (second, planned start) of one job."""
        return [(now, int(plan[handle])) for now, plan in self.plans if handle in plan]


def simulator(
    fitted: Fitted, dispatcher: Any, *others: Any, predictor: str = "requested", **options: Any
) -> Simulator:
    """Return one with the recorders of every run."""
    observers = [AllocationRecorder(len(fitted.system.resources)), DecisionRecorder(), *others]
    decides = build("dispatchers", dispatcher) if isinstance(dispatcher, str) else dispatcher
    predicts = build("predictors", predictor)
    made = Simulator(fitted, decides, predicts, observers=observers, **options)
    made.fitted = fitted
    return made


def result(simulation: Any) -> tuple[Any, ...]:
    """Return everything a run writes down that is the same in every equal run."""
    allocations, decisions = simulation.observers[:2]
    schedule = schedule_of(simulation.fitted, simulation, allocations)
    return (
        schedule.start.tolist(),
        schedule.end.tolist(),
        schedule.outcome.tolist(),
        [getattr(schedule.segments, name).tolist() for name in type(schedule.segments).__slots__],
        decisions.counts(),
    )
