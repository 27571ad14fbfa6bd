"""From names to a finished simulation: the one call behind ``cpsched simulate``."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from time import monotonic, perf_counter, process_time
from typing import TYPE_CHECKING, Any

from cpsched.mapping import Fitted, fit
from cpsched.simulation import checkpoint as checkpoints
from cpsched.simulation.identity import Settings as Settings
from cpsched.simulation.identity import describe
from cpsched.simulation.record import AllocationRecorder, DecisionRecorder
from cpsched.simulation.result import schedule_of
from cpsched.simulation.simulator import Simulator
from cpsched.spec import build, spec_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from cpsched.dispatch.contract import Dispatcher
    from cpsched.model.schedule import Schedule
    from cpsched.model.system import System
    from cpsched.model.types import IntArray
    from cpsched.model.workload import Workload
    from cpsched.prediction import RuntimePredictor
    from cpsched.simulation.observers import Observer


@dataclass(frozen=True)
class Checkpoint:
    """
    Where a simulation keeps its state, so that a killed one can go on.

    The file stays when the simulation is done: call :meth:`remove` once the run is saved, so that
    a full disk does not lose both.

    Attributes
    ----------
    interval
        Seconds (of real time) between two writes.
    """

    path: Path
    interval: float = 60.0

    def remove(self) -> None:
        """Remove the file, if it is there."""
        self.path.unlink(missing_ok=True)


@dataclass(frozen=True, kw_only=True, eq=False)
class Run:
    """
    A finished simulation.

    Attributes
    ----------
    dispatcher, predictor
        Canonical specifications; of an object without one, its name.
    schedule
        When and where every job ran.
    decisions, predictions
        Counts that are the same in every equal run: the dispatcher's and the predictor's.
    provenance
        What predictions rest on besides the predictor's options: the hash of a model file, ...
    timing
        Seconds, which are not.
    """

    dispatcher: str
    predictor: str
    settings: Settings
    schedule: Schedule
    decisions: Mapping[str, Any]
    predictions: Mapping[str, int]
    timing: Mapping[str, float]
    provenance: Mapping[str, str] = field(default_factory=dict)

    @property
    def deterministic(self) -> bool:
        """Whether an equal run gives the same: not if a wall-clock limit ended a solve."""
        return not self.decisions.get("wall_limit_hits")


def simulate(
    workload: Workload | Fitted,
    system: System | None = None,
    *,
    dispatcher: str | Dispatcher = "easy",
    predictor: str | RuntimePredictor = "requested",
    settings: Settings | None = None,
    observers: Sequence[Observer] = (),
    checkpoint: Checkpoint | None = None,
) -> Run:
    """
    Simulate a workload on a system.

    Parameters
    ----------
    workload
        The jobs; already mapped onto a system, or together with ``system``.
    dispatcher, predictor
        Specifications like ``easy:backfill=sjf``, or objects.
    settings
        Everything else; defaults where None.
    observers
        Told about everything that happens.
    checkpoint
        Where the state is kept meanwhile; if it is there already, the simulation goes on from
        it. It is for the caller to remove once the run is saved.

    Raises
    ------
    TypeError
        If a mapped workload comes with a system, or another one without.
    ConfigError
        If an option or the mapping of the workload makes no sense; or if there is a checkpoint, and
        a dispatcher or predictor has no specification, so that nothing tells the run from others.
    DispatchError
        If the dispatcher breaks an invariant.
    """
    settings = settings or Settings()
    fitted = _fitted(workload, system, settings)
    settings = replace(
        settings,
        enforce_limits=fitted.enforce_limits,
        restarts=fitted.restarts,
        malleable=fitted.malleable,
    )
    decides = build("dispatchers", dispatcher) if isinstance(dispatcher, str) else dispatcher
    if settings.dispatch_interval is None:
        settings = replace(settings, dispatch_interval=decides.interval)
    allocations = AllocationRecorder(len(fitted.system.resources))
    decisions = DecisionRecorder()
    simulator = simulator_of(
        fitted, decides, predictor, settings, (allocations, decisions, *observers)
    )
    wall, cpu = perf_counter(), process_time()
    if checkpoint is None:
        simulator.run()
    else:
        _run_with(checkpoint, simulator, (dispatcher, predictor, settings))
    timing = {
        "loop_s": perf_counter() - wall,
        "loop_cpu_s": process_time() - cpu,
        **decisions.timing(),
    }
    return Run(
        dispatcher=_called("dispatchers", dispatcher),
        predictor=_called("predictors", predictor),
        settings=settings,
        schedule=schedule_of(fitted, simulator, allocations),
        decisions=decisions.counts(),
        predictions={name: int(value) for name, value in simulator.predictor.stats().items()},
        timing=timing,
        provenance=dict(simulator.predictor.provenance()),
    )


def simulator_of(
    fitted: Fitted,
    dispatcher: str | Dispatcher,
    predictor: str | RuntimePredictor,
    settings: Settings,
    observers: Sequence[Observer] = (),
) -> Simulator:
    """Return a simulation that has not begun, made of names."""
    decides = build("dispatchers", dispatcher) if isinstance(dispatcher, str) else dispatcher
    interval = settings.dispatch_interval
    truth = _Truth()
    simulator = Simulator(
        fitted,
        decides,
        build("predictors", predictor, truth=truth) if isinstance(predictor, str) else predictor,
        overrun=settings.overrun,
        correction=settings.correction,
        dispatch_interval=decides.interval if interval is None else interval,
        runtime_model=settings.runtime_model,
        outages=settings.outages,
        seed=settings.seed,
        observers=observers,
    )
    truth.runtime = simulator.arrivals.runtime
    return simulator


def _run_with(
    checkpoint: Checkpoint,
    simulator: Simulator,
    what: tuple[str | Dispatcher, str | RuntimePredictor, Settings],
) -> None:
    """Run, keeping the state in a file; go on from it if it is there."""
    jobs, system = simulator.arrivals.workload.digest(), simulator.system.digest()
    identity = describe(jobs, system, *what).identity
    if checkpoint.path.exists():
        simulator.restore(checkpoints.read(checkpoint.path, identity))
    due = monotonic() + checkpoint.interval
    while simulator.advance():
        if monotonic() >= due:
            checkpoints.write(checkpoint.path, identity, simulator.state())
            due = monotonic() + checkpoint.interval


class _Truth:
    """The runtimes by handle, for the one predictor that is given them on purpose."""

    runtime: IntArray

    def __call__(self, handle: IntArray) -> IntArray:
        return self.runtime[handle]


def _fitted(workload: Workload | Fitted, system: System | None, settings: Settings) -> Fitted:
    if isinstance(workload, Fitted):
        if system is not None:
            raise TypeError("a workload that is mapped onto a system already takes no other one")
        return workload
    if system is None:
        raise TypeError("a workload that is not mapped onto a system needs one")
    return fit(
        workload,
        system,
        enforce_limits=settings.enforce_limits,
        restarts=settings.restarts,
        malleable=settings.malleable,
    )


def _called(group: str, thing: Any) -> str:
    """Return a canonical specification; of an object without one, its name."""
    return str(spec_of(group, thing) or thing.name)
