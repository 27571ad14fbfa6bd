"""
The empirical runtime distribution of jobs, from what has ended and what is predicted.

Nothing here is asked of a predictor or the simulator: a job that no longer runs has ended, and its
runtime is known from then on. What predictions carry is read from the jobs themselves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cpsched import _core
from cpsched.dispatch.backlog import Backlog
from cpsched.model import columns as c
from cpsched.model.prediction import HORIZONS, LEVELS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cpsched.model.decision import Decision
    from cpsched.model.jobtable import JobTable
    from cpsched.model.view import View
    from cpsched.util.types import FloatArray, IntArray

#: Columns of what is known of a job, ``JobFacts`` in ``cpsched/cpp/runtime_distribution.h``: the
#: number of its user (-1: unknown), its requested time, the logarithms of requested time, estimate
#: and cores, its predicted runtimes, their weights, and for how long it has run.
USER, LIMIT, TRAIT, ESTIMATE = 0, 1, 2, 3
PREDICTED, NUM_PREDICTED = 5, 13
ELAPSED = PREDICTED + 2 * NUM_PREDICTED
NUM_FACTS = ELAPSED + 1
#: Columns of an ended job: its runtime, the three logarithms, the number of its user.
ENDED_USER, ENDED_WIDTH = 4, 5
#: Ended jobs remembered of each user and of all.
ENDED_OF_USER, ENDED_OF_ALL = 40, 250
#: A job that takes less of the machine, or nothing, counts as if it took this much.
_LEAST_SHARE = 1e-9
#: Estimates are judged by this many of the last ended jobs, with older ones fading out.
_JUDGED = 200
#: Runtimes that differ by more than a factor of twenty count as if they differed by that.
_MAX_CHANGE = 3.0
#: Between horizons a runtime of which nothing else is known counts as the geometric mean of them.
_BETWEEN = np.sqrt(np.array((HORIZONS[0] / 6, *HORIZONS[:-1])) * np.array(HORIZONS))


class RuntimeDistribution(NamedTuple):
    """
    Possible runtimes of n jobs with weights: those of similar ended jobs, and predicted ones.

    The distance of jobs and the weights: ``cpsched/cpp/runtime_distribution.h``.

    Attributes
    ----------
    runtime, weight
        Seconds and their weights, which add up to 1, shape ``(n, 45)``.
    size
        How many of them count, shape ``(n,)``.
    """

    runtime: FloatArray
    weight: FloatArray
    size: IntArray

    def take(self, positions: IntArray) -> RuntimeDistribution:
        """Return those of some of the jobs."""
        return RuntimeDistribution(
            self.runtime[positions], self.weight[positions], self.size[positions]
        )

    def expectations(self) -> tuple[FloatArray, FloatArray]:
        """
        Return means over the runtimes r of each job, shape ``(n,)``.

        Of ``1 / max(r, 10)``, which a second of waiting adds to the bounded slowdown, and of r.
        """
        slope, mean = _core.expected_runtimes(*self)
        return slope, mean

    def sample(self, scenarios: int, seed: int, elapsed: IntArray, otherwise: IntArray) -> IntArray:
        """
        Return sampled runtimes that are longer than jobs have run (Latin hypercube sampling).

        Parameters
        ----------
        scenarios, seed
            The number of samples of each job, and where the random numbers begin.
        elapsed, otherwise
            Seconds that each job has run, and what to take where no runtime is longer; ``(n,)``.

        Returns
        -------
        ndarray
            Whole seconds, shape ``(scenarios, n)``.
        """
        sampled: IntArray = _core.sampled_runtimes(scenarios, seed, elapsed, otherwise, *self)
        return sampled


class DelayCosts(NamedTuple):
    """
    What waiting costs, of n jobs.

    Attributes
    ----------
    cost, value
        Expected cost of one more second of waiting, and this cost divided by the expected resource
        use of the job, shape ``(n,)``.
    """

    cost: FloatArray
    value: FloatArray


class RuntimeHistory:
    """
    What the jobs that ended last ran, those of each user and all.

    Attributes
    ----------
    backlog
        How long the system needs for all unfinished work, where :meth:`note_backlog` is called.
    """

    def __init__(self) -> None:
        self.backlog = Backlog()
        #: Until a decision ends: the waiting jobs, their facts and runtime distributions.
        self._waiting: tuple[JobTable, FloatArray, RuntimeDistribution] | None = None
        self.forget()

    def forget(self) -> None:
        """Forget everything."""
        self.backlog.forget()
        self._waiting = None
        #: Of each running job by handle: its start, then user, requested time and traits.
        self._running: dict[int, tuple[float, ...]] = {}
        self._users: dict[str, int] = {}
        self._codes: IntArray = np.full(1, -1, dtype=np.int64)
        self._store: object = None
        self._own: FloatArray = np.zeros((0, ENDED_WIDTH))
        self._num_own: IntArray = np.zeros(0, dtype=np.int64)
        self._past: FloatArray = np.zeros((ENDED_OF_ALL, ENDED_WIDTH))
        self._num_past = 0
        self._typical_area = 0.0
        #: How much runtimes differ from one job of a user to the next, and how much of that is
        #: left where estimates differ alike; mean absolute logarithms.
        self._change = self._error = 0.0
        self._num_judged = 0
        #: Of the last job of each user: logarithms of its runtime and estimate.
        self._last: dict[int, tuple[float, float]] = {}
        self._grow(16)

    def users(self, jobs: JobTable) -> IntArray:
        """Return our number for the user of each job, -1 where unknown."""
        labels = jobs.store.labels["user"]
        if jobs.store is not self._store:
            self._store = jobs.store
            self._codes = np.full(1, -1, dtype=np.int64)
        if len(labels) >= len(self._codes):
            known = self._users
            more = [known.setdefault(label, len(known)) for label in labels[len(self._codes) - 1 :]]
            # The last entry stays -1: it is what the code of an unknown user (-1) finds.
            self._codes = np.array([*self._codes[:-1].tolist(), *more, -1], dtype=np.int64)
            self._grow(len(known))
        numbers: IntArray = self._codes[jobs.column(c.USER)]
        return numbers

    def _grow(self, num_users: int) -> None:
        capacity = len(self._num_own)
        if num_users <= capacity:
            return
        capacity = max(2 * capacity, num_users)
        rows = capacity * ENDED_OF_USER - len(self._own)
        self._own = np.concatenate([self._own, np.zeros((rows, ENDED_WIDTH))])
        more = np.zeros(capacity - len(self._num_own), dtype=np.int64)
        self._num_own = np.concatenate([self._num_own, more])

    def note_ends(self, view: View) -> None:
        """Learn from the jobs that ran at the last decision and do no more."""
        self._waiting = None
        running = view.running
        handles = running.handle.tolist()
        known = self._running
        gone = known.keys() - set(handles)
        if gone:
            ended = sorted(gone)
            failed = set(_of_handles(view.waiting, ended).handle.tolist())
            for handle in ended:
                start, *facts = known.pop(handle)
                ran = max(view.now - start, 1)
                # A start that failed, or was cut short, is not an end: the job waits again. A start
                # with a fixed maximum length gives no more information.
                if handle not in failed or np.log(ran) >= facts[TRAIT]:
                    self.learn(facts, ran)
        if len(known) < len(handles):
            self._remember(running, running.start)

    def note_starts(self, view: View, decision: Decision) -> None:
        """Remember what starts now: it may have ended when the dispatcher is asked next."""
        self._waiting = None
        if not decision.actions:
            return
        started = _of_handles(view.waiting, [action.handle for action in decision.actions])
        self._remember(started, np.full(len(started), view.now, dtype=np.int64))

    def note_backlog(self, view: View, taken: Callable[[JobTable], IntArray]) -> None:
        """
        Note how long the system needs for all jobs that wait or run, see :class:`Backlog`.

        What is known of the waiting jobs is cached until :meth:`note_starts`.

        Parameters
        ----------
        taken
            Returns the least amounts that jobs take.
        """
        waiting = view.waiting
        facts = self.facts(waiting)
        runtimes = self.distribution(facts)
        self._waiting = waiting, facts, runtimes
        expected = runtimes.expectations()[1]
        self.backlog.note(view, expected, taken, lambda jobs: self.of(jobs).expectations()[1])

    def _remember(self, jobs: JobTable, start: IntArray) -> None:
        facts = self.facts(jobs)[:, :PREDICTED]
        rows = np.column_stack([start, facts]).tolist()
        for handle, row in zip(jobs.handle.tolist(), rows, strict=True):
            self._running.setdefault(handle, tuple(row))

    def learn(self, facts: Sequence[float], runtime: float) -> None:
        """
        Learn from a job that has ended.

        Parameters
        ----------
        facts
            Of the job, as in :meth:`facts`; predictions are not looked at.
        runtime
            Seconds, at least 1.
        """
        user, traits = int(facts[USER]), facts[TRAIT:PREDICTED]
        row = (runtime, *traits, user)
        self._past[self._num_past % ENDED_OF_ALL] = row
        self._num_past += 1
        area = runtime * float(np.exp(traits[-1]))
        self._typical_area += (area - self._typical_area) / self._num_past
        self._judge_estimates(user, float(np.log(runtime)), facts[ESTIMATE])
        if user >= 0:
            self._grow(user + 1)
            slot = self._num_own[user] % ENDED_OF_USER
            self._own[user * ENDED_OF_USER + slot] = row
            self._num_own[user] += 1

    def _judge_estimates(self, user: int, runtime: float, estimate: float) -> None:
        """Compare a job's runtime and estimate, logarithms, with the last ones of its user."""
        if user in self._last:
            before, expected = self._last[user]
            change, error = runtime - before, runtime - before - (estimate - expected)
            self._num_judged += 1
            rate = 1 / min(self._num_judged, _JUDGED)
            self._change += (min(abs(change), _MAX_CHANGE) - self._change) * rate
            self._error += (min(abs(error), _MAX_CHANGE) - self._error) * rate
        self._last[user] = runtime, estimate

    @property
    def scale(self) -> float:
        """
        How far runtimes follow estimates, from 0 to 1: a power of the ratio of two estimates.

        1 where a user's next job runs as much longer as it is estimated to, 1/2 where the estimates
        say nothing that the last runtime does not, 0 where they mislead.
        """
        change, error = self._change**4, self._error**4
        return change / (change + error) if change + error > 0 else 0.5

    def forget_user(self, user: int) -> None:
        """Forget the jobs of a user, whose number another may have from now on."""
        self._num_own[user] = 0
        self._last.pop(user, None)
        self._past[self._past[:, ENDED_USER] == user, ENDED_USER] = -1

    def facts(self, jobs: JobTable) -> FloatArray:
        """Return what is known of jobs, see the columns above; shape ``(n, F)``."""
        if self._waiting is not None:
            waiting, facts, _ = self._waiting
            if jobs.rows is waiting.rows and jobs.store is waiting.store:
                return facts
        predicted = jobs.runtime_quantiles, jobs.ends_within
        request = jobs.requested_time, jobs.runtime_estimate, jobs.cores
        return facts_of(self.users(jobs), *request, *predicted, ran=jobs.ran)

    def distribution(self, facts: FloatArray) -> RuntimeDistribution:
        """Return the runtime distribution of jobs of which this is known."""
        if self._waiting is not None and facts is self._waiting[1]:
            return self._waiting[2]
        past, own = (self._past, self._num_past), (self._own, self._num_own)
        return RuntimeDistribution(*_core.runtime_distribution(facts, *past, *own, self.scale))

    def of(self, jobs: JobTable) -> RuntimeDistribution:
        """Return the runtime distribution of jobs."""
        return self.distribution(self.facts(jobs))

    def delay_costs(
        self,
        facts: FloatArray,
        share: FloatArray,
        waited: IntArray,
        aging: float,
        power: float,
    ) -> DelayCosts:
        """
        Return what waiting costs.

        The rule of weighted shortest processing times (Smith 1956), with the slope of a job's cost
        for its weight and a power of its share of the machine times its runtime for the processing
        time.

        Parameters
        ----------
        facts
            As :meth:`facts` returns them.
        share, waited
            The largest share of the machine each job takes, and seconds; shape ``(n,)``.
        power
            Of the share; 1 in Smith's rule.
        """
        slope, mean = self.distribution(facts).expectations()
        area = mean * np.exp(facts[:, PREDICTED - 1]) / max(self._typical_area, 1.0)
        cost = slope + _core.overdue_slope(waited, area, aging)
        taken = mean * np.maximum(share, _LEAST_SHARE) ** power
        return DelayCosts(cost, cost / taken)

    def state(self) -> dict[str, Any]:
        """Return everything seen, as arrays, strings and numbers."""
        running = sorted(self._running.items())
        width = 2 + PREDICTED
        return {
            "running": np.array([(h, *rest) for h, rest in running]).reshape(-1, width),
            "users": list(self._users),
            "own": self._own.copy(),
            "num_own": self._num_own.copy(),
            "past": self._past.copy(),
            "num_past": self._num_past,
            "typical_area": self._typical_area,
            "judged": np.array([self._change, self._error, self._num_judged]),
            "last": np.array([(user, *last) for user, last in self._last.items()]).reshape(-1, 3),
            **{f"backlog_{name}": values for name, values in self.backlog.state().items()},
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state` returned."""
        self.forget()
        running = np.asarray(state["running"]).tolist()
        self._running = {int(handle): tuple(known) for handle, *known in running}
        self._users = {str(user): number for number, user in enumerate(state["users"])}
        self._own = np.array(state["own"], dtype=np.float64)
        self._num_own = np.array(state["num_own"], dtype=np.int64)
        self._past = np.array(state["past"], dtype=np.float64)
        self._num_past = int(state["num_past"])
        self._typical_area = float(state["typical_area"])
        self._change, self._error, judged = np.asarray(state["judged"]).tolist()
        self._num_judged = int(judged)
        last = np.asarray(state["last"]).tolist()
        self._last = {int(user): (runtime, estimate) for user, runtime, estimate in last}
        named = {name: state[f"backlog_{name}"] for name in self.backlog.state()}
        self.backlog.restore(named)


def facts_of(
    user: IntArray,
    requested_time: IntArray,
    estimate: IntArray,
    cores: IntArray,
    quantiles: IntArray | None = None,
    ends_within: FloatArray | None = None,
    ran: IntArray | int = 0,
) -> FloatArray:
    """
    Return what is known of n jobs as one array, see the columns above.

    Parameters
    ----------
    user
        Numbers, -1 where unknown.
    quantiles, ends_within
        As in :class:`cpsched.model.prediction.Prediction`; rows of -1 and NaN where nothing is
        known.
    ran
        Seconds that jobs have run without coming to their ends.
    """
    facts = np.zeros((len(user), NUM_FACTS))
    facts[:, USER] = user
    facts[:, LIMIT] = np.maximum(requested_time, 1)
    traits = np.column_stack([requested_time, estimate, cores])
    facts[:, TRAIT:PREDICTED] = np.log(np.maximum(traits, 1))
    facts[:, ELAPSED] = ran
    if quantiles is not None or ends_within is not None:
        facts[:, PREDICTED:ELAPSED] = _predicted(facts[:, LIMIT], quantiles, ends_within)
    return facts


def _predicted(
    limit: FloatArray, quantiles: IntArray | None, ends_within: FloatArray | None
) -> FloatArray:
    """
    Return predicted runtimes and their weights, shape ``(n, 2 * PREDICTED)``.

    The quantiles between two horizons share the chance to end there; where there are none, it goes
    to a runtime between them.
    """
    num, levels = len(limit), len(LEVELS)
    runtime = np.ones((num, NUM_PREDICTED))
    weight = np.zeros((num, NUM_PREDICTED))
    if quantiles is not None:
        runtime[:, :levels] = quantiles
        weight[:, :levels] = (quantiles[:, :1] > 0) / levels
    if ends_within is not None:
        known = ~np.isnan(ends_within[:, 0])
        chance = np.diff(ends_within, axis=1, prepend=0.0, append=1.0)
        last = np.sqrt(HORIZONS[-1] * np.maximum(limit, HORIZONS[-1]))
        runtime[:, levels:-1], runtime[:, -1] = _BETWEEN, last
        part = np.searchsorted(HORIZONS, runtime[:, :levels])
        for number in range(len(HORIZONS) + 1):
            here = (part == number) & (weight[:, :levels] > 0)
            count = here.sum(axis=1)
            each = chance[:, number] / np.maximum(count, 1)
            weight[:, :levels] = np.where(here & known[:, None], each[:, None], weight[:, :levels])
            weight[:, levels + number] = np.where(known & (count == 0), each, 0.0)
    return np.concatenate([runtime, weight], axis=1)


def _of_handles(jobs: JobTable, handles: list[int]) -> JobTable:
    """Return those of some jobs that have one of these handles, at least one."""
    # As np.isin, at a fraction of its cost where these are few.
    wanted, handle = np.sort(handles), jobs.handle
    nearest = wanted[np.searchsorted(wanted, handle).clip(max=len(wanted) - 1)]
    return jobs.take(nearest == handle)
