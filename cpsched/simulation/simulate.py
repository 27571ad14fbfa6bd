"""From names to a finished simulation: the call behind ``cpsched simulate``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from time import monotonic, perf_counter, process_time
from typing import TYPE_CHECKING, Any

from cpsched import logs, systems
from cpsched.errors import ConfigError
from cpsched.model.system import System
from cpsched.model.workload import Workload
from cpsched.simulation import checkpoint as checkpoints
from cpsched.simulation.identity import identify
from cpsched.simulation.record import AllocationRecorder, DecisionRecorder
from cpsched.simulation.run import Run as Run
from cpsched.simulation.run import schedule_of
from cpsched.simulation.settings import Settings as Settings
from cpsched.simulation.simulator import Simulator
from cpsched.systems.mapping import Fitted, fit
from cpsched.util.own_code import title
from cpsched.util.spec import build, spec_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.dispatch.contract import Dispatcher
    from cpsched.model.prediction import RuntimePredictor
    from cpsched.model.schedule import Outages
    from cpsched.simulation.arrivals import JobStream
    from cpsched.simulation.observers import Observer
    from cpsched.util.types import IntArray


@dataclass(frozen=True)
class Checkpoint:
    """
    File for the state of a simulation, from which an interrupted one continues.

    The file stays when the simulation is done. Call :meth:`remove` after the run is saved, so that
    a full disk cannot lose both.

    Attributes
    ----------
    interval
        Seconds (of real time) between saves.
    """

    path: Path
    interval: float = 60.0

    def remove(self) -> None:
        """Remove the file, if it exists."""
        self.path.unlink(missing_ok=True)


def simulate(
    workload: Workload | Fitted | str | PathLike[str],
    system: System | str | PathLike[str] | None = None,
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
        The path of a job log, a workload, or one that is already mapped onto a system
        (:func:`~cpsched.systems.mapping.fit`).
    system
        The name of a bundled system (``cpsched list systems``), the path of a system file, or a
        system. Left out only for a mapped workload.
    dispatcher, predictor
        Specifications like ``easy:backfill=sjf``, or objects.
    settings
        All other settings. None: defaults.
    observers
        Observers of all events.
    checkpoint
        File for the state. If it exists, the simulation continues from it. The caller removes it
        after the run is saved.

    Raises
    ------
    TypeError
        If a mapped workload comes with a system, or another one without.
    TraceError
        If the log cannot be read. The message has file, line, field and value.
    ConfigError
        If the system cannot be read, or an option or the mapping of the workload is invalid. Also
        if there is a checkpoint and a dispatcher or predictor without a specification, so that the
        run cannot be distinguished from others.
    DispatchError
        If the dispatcher breaks an invariant.
    """
    settings = settings or Settings()
    fitted = _fitted(workload, system, settings)
    settings = replace(
        settings,
        enforce_time_limits=fitted.enforce_time_limits,
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
        dispatcher=_spec_text("dispatchers", dispatcher),
        predictor=_spec_text("predictors", predictor),
        settings=settings,
        schedule=schedule_of(fitted, simulator, allocations),
        decisions=decisions.counts(),
        predictions={name: int(value) for name, value in simulator.predictor.stats().items()},
        timing=timing,
        provenance=dict(simulator.predictor.provenance()),
    )


def simulator_of(
    fitted: Fitted | JobStream,
    dispatcher: str | Dispatcher,
    predictor: str | RuntimePredictor,
    settings: Settings,
    observers: Sequence[Observer] = (),
    outages: Outages | None = None,
) -> Simulator:
    """Return a simulation that has not begun, made of names; outages may be others than asked."""
    decides = build("dispatchers", dispatcher) if isinstance(dispatcher, str) else dispatcher
    interval = settings.dispatch_interval
    truth = _RecordedRuntimes()
    simulator = Simulator(
        fitted,
        decides,
        build("predictors", predictor, truth=truth) if isinstance(predictor, str) else predictor,
        overrun=settings.overrun,
        correction=settings.estimate_correction,
        dispatch_interval=decides.interval if interval is None else interval,
        runtime_model=settings.runtime_model,
        outages=settings.outages if outages is None else outages,
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
    """Run, saving the state in a file; continue from it if it exists."""
    jobs, system = simulator.arrivals.workload.digest(), simulator.system.digest()
    identity, unknown = identify(jobs, system, *what)
    if unknown:
        raise ConfigError(
            f"a checkpoint needs code that can be identified. {unknown[0]}", where=checkpoint.path
        )
    if checkpoint.path.exists():
        simulator.restore(checkpoints.read(checkpoint.path, identity))
    due = monotonic() + checkpoint.interval
    while simulator.advance(seconds=min(0.1, checkpoint.interval)):
        if monotonic() >= due:
            checkpoints.write(checkpoint.path, identity, simulator.state())
            due = monotonic() + checkpoint.interval


class _RecordedRuntimes:
    """The runtimes by handle, for the one predictor that is given them on purpose."""

    runtime: IntArray

    def __call__(self, handle: IntArray) -> IntArray:
        return self.runtime[handle]


def _fitted(
    workload: Workload | Fitted | str | PathLike[str],
    system: System | str | PathLike[str] | None,
    settings: Settings,
) -> Fitted:
    if isinstance(workload, Fitted):
        if system is not None:
            raise TypeError("the workload is already mapped onto a system. Leave out the system.")
        return workload
    if system is None:
        raise TypeError(
            "the system is missing. Give the name of a bundled system (cpsched list systems), the"
            " path of a system file, or a System."
        )
    if not isinstance(workload, Workload):
        if not isinstance(workload, str | PathLike):
            raise TypeError(
                f"the workload is a {type(workload).__name__}, must be the path of a log or a"
                " Workload"
            )
        workload = logs.read(workload)
    if not isinstance(system, System):
        if not isinstance(system, str | PathLike):
            raise TypeError(
                f"the system is a {type(system).__name__}, must be a name, the path of a system"
                " file or a System"
            )
        system = systems.load(system if isinstance(system, str) else Path(system))
    return fit(workload, system, **settings.mapping)


def _spec_text(group: str, thing: Any) -> str:
    """Return a canonical specification; of an object without one, its name."""
    return str(spec_of(group, thing) or thing.name or title(thing))
