"""Simulations and what they record, to be compared with each other."""

from reference import planned

from cpsched.simulation.observers import Observer
from cpsched.simulation.record import AllocationRecorder, DecisionRecorder
from cpsched.simulation.run import schedule_of
from cpsched.simulation.simulator import Simulator
from cpsched.util.spec import build


class Plans(Observer):
    """Keeps (second, planned start of each job) of every decision that plans anything."""

    def __init__(self):
        self.plans = []

    def on_decision(self, view, decision, seconds):
        """Note a plan."""
        if decision.planned_starts:
            self.plans.append((view.now, planned(decision)))

    def of(self, handle):
        """Return (second, planned start) of one job."""
        return [(now, int(plan[handle])) for now, plan in self.plans if handle in plan]


def simulator(fitted, dispatcher, *others, predictor="requested", **options):
    """Return one with the recorders of every run."""
    observers = [AllocationRecorder(len(fitted.system.resources)), DecisionRecorder(), *others]
    decides = build("dispatchers", dispatcher) if isinstance(dispatcher, str) else dispatcher
    predicts = build("predictors", predictor)
    made = Simulator(fitted, decides, predicts, observers=observers, **options)
    made.fitted = fitted
    return made


def result(simulation):
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
