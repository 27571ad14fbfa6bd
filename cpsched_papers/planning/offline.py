"""From a workload and a dispatcher's name to one plan of all jobs, checked and judged."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast

import numpy as np

from cpsched.api.dispatchers import MOST_COUNTS, BuildsModel, Dispatcher
from cpsched.api.errors import ConfigError, DispatchError
from cpsched.api.model import MISSING, NOTHING, Start
from cpsched.api.simulation import Observer, Settings, simulate
from cpsched.api.studies import node_list
from cpsched.api.tools import Spec, brief, build, counted, fold_units, may_be_none, options_of
from cpsched_papers.planning.assign import assign
from cpsched_papers.planning.check import check_nodes, check_pool
from cpsched_papers.planning.instance import instance_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cpsched.api.logs import Fitted
    from cpsched.api.model import Allocation, Decision, IntArray
    from cpsched_papers.planning.instance import Instance

#: Deterministic time for one plan: a decision of a simulation gets a hundredth or less.
LIMIT = 1.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OfflinePlan:
    """
    A plan of an instance; n jobs.

    Attributes
    ----------
    dispatcher
        Specification that made it, with the options set for the occasion.
    start
        Planned start of each job, shape ``(n,)``.
    placed
        Where jobs are, by handle; the plan leaves open where others go.
    status
        ``optimal``, ``feasible`` (a limit came before the proof) or ``simulated`` (a list or
        backfilling dispatcher, run event by event).
    minimised
        ``slowdown`` or ``expected-wait``: what the solver minimised; None without a solver.
    gap
        ``(value - bound) / value`` of the weighted delay beyond each job's earliest start, within
        [0, 1]; None without a solver.
    listed
        The list plan in the dispatcher's own order, to compare with; None where jobs have
        releases or wait for others, which it does not know.
    stats
        What the dispatcher says of the decision.
    """

    dispatcher: str
    predictor: str
    instance: Instance
    start: IntArray
    placed: Mapping[int, Allocation]
    status: str
    listed: IntArray | None
    minimised: str | None = None
    gap: float | None = None
    stats: Mapping[str, float] = field(default_factory=dict)

    def objective(self, start: IntArray) -> float | None:
        """Return the mean of what was minimised (slowdowns without a solver) for some starts."""
        return self.instance.objective(self.minimised, start)

    @property
    def nodes(self) -> list[str | None]:
        """Node list of each job; None where the plan leaves it open."""
        names = self.instance.fitted.system.node_names
        return [at and node_list(names, at.node) for at in self._by_handle()]

    @property
    def units_per_node(self) -> list[str | None]:
        """Units of each job on each of its nodes; None where the plan leaves them open."""
        return [at and fold_units(at.units.tolist()) for at in self._by_handle()]

    @property
    def checked(self) -> str:
        """``nodes`` or ``pool``: where it was verified that capacity is never exceeded."""
        return "nodes" if len(self.placed) == len(self.instance) else "pool"

    def _by_handle(self) -> list[Allocation | None]:
        return [self.placed.get(job) for job in range(len(self.instance))]

    @property
    def bound(self) -> float | None:
        """A value no plan's mean objective is below; None where nothing is known."""
        value = self.objective(self.start)
        if self.gap is None or value is None:
            return None
        # All jobs at their release is what delays are counted from: the machine is empty.
        base = self.objective(self.instance.release) or 0.0
        return base + (value - base) * (1 - self.gap)


def plan(
    fitted: Fitted,
    *,
    dispatcher: str | Dispatcher = "easy",
    predictor: str = "requested",
    limit: float = LIMIT,
    keep_submits: bool = False,
    seed: int = 0,
) -> OfflinePlan:
    """
    Plan all jobs of a workload on the empty machine.

    Parameters
    ----------
    dispatcher
        A specification, or an object. One that plans with CP-SAT solves the instance once, all
        jobs in its window unless an option says otherwise. Any other is simulated, with the
        predicted durations as runtimes.
    predictor
        Gives the durations.
    limit
        Deterministic time of the solve, unless the dispatcher's own option says otherwise.
    keep_submits
        Whether jobs cannot start before they are submitted; for dispatchers without a model.

    Raises
    ------
    ConfigError
        If the dispatcher cannot plan such an instance, or leaves jobs unplanned.
    DispatchError
        If the plan exceeds the machine's capacity.
    """
    if not 0 < limit < math.inf:
        raise ConfigError(f"limit is {limit}, must be above 0 and finite", key="--limit")
    spec, decides = _for_the_occasion(dispatcher, limit)
    # Models that select sets of jobs to start now plan no other job.
    solves = isinstance(decides, BuildsModel) and not decides.selects_sets
    if solves and keep_submits:
        raise ConfigError(
            f"'{decides.name}' needs all jobs to be submitted: its model has no release times;"
            " leave"
            " this out, or name a dispatcher without a model (easy, prb, ...)",
            key="--keep-submits",
        )
    instance = instance_of(fitted, predictor, decides, keep_submits=keep_submits, seed=seed)
    if solves:
        found = _solved(instance, spec, predictor)
    else:
        found = _simulated(instance, spec, predictor, seed)
    check_pool(instance, found.start)
    return found


#: What decisions are counted as that the solver proved nothing about: neighbourhoods say nothing
#: of the whole.
_UNPROVEN = "planned"
#: How many groups of jobs the whole-queue plan replans here, where nothing comes after it.
_NEIGHBOURHOODS = 50


def _for_the_occasion(dispatcher: str | Dispatcher, limit: float) -> tuple[str, Dispatcher]:
    """Return a dispatcher and its specification, all jobs in its window, and with more time."""
    if isinstance(dispatcher, Dispatcher):
        return dispatcher.name, dispatcher
    spec = Spec.parse(dispatcher)
    given, known = dict(spec.options), options_of("dispatchers", spec.name)
    # Dispatchers that plan the queue have a limit, and a window that can be all of it.
    if "limit" in known and may_be_none("dispatchers", spec.name, "window"):
        given = {"window": "all", "limit": repr(limit)} | given
    if "neighbourhoods" in known:
        # The limit is of one neighbourhood, and no other job arrives.
        asked = given.get("neighbourhoods", str(_NEIGHBOURHOODS))
        each = limit / max(int(asked) if asked.isdecimal() else _NEIGHBOURHOODS, 1)
        given = {"neighbourhoods": asked, "arrivals": "0", "limit": repr(each)} | given
    spec = Spec(spec.name, tuple(sorted(given.items())))
    return str(spec), build("dispatchers", spec)


def _starts(decision: Decision, num_jobs: int) -> IntArray:
    """Return the start of every job of a decision on all of them, ``MISSING`` if not planned."""
    start = np.full(num_jobs, MISSING, dtype=np.int64)
    if decision.planned_starts is not None:
        start[list(decision.planned_starts.handle)] = list(decision.planned_starts.start)
    start[[action.handle for action in decision.actions if isinstance(action, Start)]] = 0
    return start


def _solved(instance: Instance, spec: str, predictor: str) -> OfflinePlan:
    """
    Take the plan of one decision, or the list plan.

    The latter where it finds nodes for every job and is better by what is minimised.
    """
    cluster, workload = instance.cluster, instance.fitted.workload
    dependent = instance.row[workload.dependency[instance.row] >= 0]
    if len(dependent):
        raise ConfigError(
            f"{counted(len(dependent), 'job')} with dependencies (the first:"
            f" {brief(str(workload.job_id[dependent[0]]))}), which the model of"
            f" '{cluster.dispatcher.name}' does not support; name a dispatcher without a model"
            " (easy,"
            " prb, ...)"
        )
    listed = instance.list_plan()
    decision = cluster.decide(0)
    start, stats = _starts(decision, len(instance)), dict(decision.stats)
    left = int((start == MISSING).sum())
    if left:
        why = "a larger window if that is not all of them"
        if stats.get("window_shortened"):
            why = f"another dispatcher: its model has {MOST_COUNTS:,} counts of units at most"
        raise ConfigError(
            f"plans only {len(instance) - left:,} of {len(instance):,} jobs; give it fewer"
            f" (--first), or {why}",
            where=spec,
        )
    minimised = cluster.dispatcher.minimises

    def delay(start: IntArray) -> float:
        base = instance.objective(minimised, instance.release) or 0.0
        return (instance.objective(minimised, start) or 0.0) - base

    found, placed = delay(start), assign(instance, decision, start)
    if delay(listed) < found:
        placed_as_listed = assign(instance, NOTHING, listed)
        if len(placed_as_listed) == len(instance):
            start, placed = listed, placed_as_listed
    cluster.start(cast("Sequence[Start]", decision.actions), 0)
    check_nodes(instance, start, placed)
    proven = _UNPROVEN not in stats and (
        not stats.get("solver_calls") or bool(stats.get("proven_optimal"))
    )
    bound = found if proven else found * (1 - float(stats.get("bound_gap", 1.0)))
    gap = 1 - bound / delay(start) if delay(start) > 0 else 0.0
    return OfflinePlan(
        dispatcher=spec,
        predictor=predictor,
        instance=instance,
        start=start,
        placed=placed,
        status="feasible" if gap else "optimal",
        listed=listed,
        minimised=minimised,
        gap=gap,
        stats=stats,
    )


class _Placements(Observer):
    """Remembers where jobs start."""

    def __init__(self) -> None:
        self.of_job: dict[int, Allocation] = {}

    def on_start(self, job: int, allocation: Allocation, now: int) -> None:  # noqa: ARG002
        self.of_job[job] = allocation


def _simulated(instance: Instance, spec: str, predictor: str, seed: int) -> OfflinePlan:
    """Run the instance event by event, every job as long as predicted."""
    from cpsched.api.studies import verify

    workload = instance.fitted.workload
    listed = None
    if not instance.release.any() and (workload.dependency[instance.row] < 0).all():
        listed = instance.list_plan()
    runtime = workload.runtime.copy()
    runtime[instance.row] = instance.duration
    certain = replace(instance.fitted, workload=workload.with_columns(runtime=runtime))
    placements = _Placements()
    run = simulate(
        certain,
        dispatcher=instance.cluster.dispatcher,
        predictor="actual",
        settings=Settings(overrun="extend", seed=seed),
        observers=[placements],
    )
    wrong = verify(run.schedule, limit=1)
    if wrong:
        raise DispatchError(f"{spec}: {wrong[0].message}")
    return OfflinePlan(
        dispatcher=spec,
        predictor=predictor,
        instance=instance,
        start=run.schedule.start[instance.row],
        placed=placements.of_job,
        status="simulated",
        listed=listed,
        stats={key: value for key, value in run.decisions.items() if key == "decisions"},
    )
