"""The forecast at one time: runtimes are drawn, past days repeated, and the rest is simulated."""

from __future__ import annotations

from math import floor
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cpsched.dispatch.runtime_distribution import RuntimeHistory
from cpsched.errors import check_range
from cpsched.forecast.start_forecast import NEVER, StartForecast
from cpsched.model import columns as c
from cpsched.model.jobtable import JobTable
from cpsched.model.seeds import stream_seed
from cpsched.simulation.present import FutureJobs
from cpsched.util.types import MISSING

if TYPE_CHECKING:
    from collections.abc import Callable

    from cpsched.simulation.present import Present
    from cpsched.simulation.simulator import Simulator
    from cpsched.util.types import IntArray

_HOUR, _DAY = 3600, 86400
#: At first, this many of the jobs that ended last are learnt from: no more are remembered.
_LEARNT = 5000
#: Time between checks whether all have started, as a share of the elapsed time; seconds at least.
_STEP, _FIRST_STEP = 0.25, 60
#: How much of what makes a runtime long or short is its user's, all jobs', and its own.
_SHARES = (0.6, 0.3, 0.1)
#: In this share of the scenarios a job uses its whole requested time, though no job like it did:
#: what has not happened in a handful of jobs may well happen next.
_WHOLE = 0.1
#: A share times a number is off by less.
_ROUNDING = 1e-9


class _Scenarios(NamedTuple):
    """
    What is drawn for the scenarios of a present; S of them, K jobs.

    Attributes
    ----------
    planned
        Starts of the jobs asked about by requested times.
    runtime
        Seconds, shape ``(S, K)``.
    future_jobs
        The jobs that come in each.
    """

    present: Present
    planned: IntArray
    runtime: IntArray
    future_jobs: list[FutureJobs]

    def future(self, present: Present, number: int) -> Simulator:
        """Return a scenario of the present, or of a variant of it."""
        requested = np.maximum(present.jobs.workload.requested_time, 1)
        return present.future(np.minimum(self.runtime[number], requested), self.future_jobs[number])


class Forecaster:
    """
    Forecasts of the starts of waiting jobs, by simulating many possible futures (scenarios).

    In each scenario, the runtime of every job is sampled from similar ended jobs and, if the
    predictor gives one, from its distribution (:mod:`cpsched.dispatch.runtime_distribution`). New
    jobs arrive as on past days. Known outages take place.

    Parameters
    ----------
    scenarios
        Number of simulated scenarios.
    horizon
        Longest length of a scenario, seconds.
    days
        Number of past days whose arrivals may be repeated. 0: no new jobs arrive.
    seed
        Seed of all random choices.
    """

    def __init__(
        self, *, scenarios: int = 20, horizon: int = 30 * _DAY, days: int = 7, seed: int = 0
    ) -> None:
        check_range("scenarios", scenarios, 2, 1000)
        check_range("horizon", horizon, _HOUR, 366 * _DAY)
        check_range("days", days, 0, 366)
        self.scenarios, self._horizon, self._days, self._seed = scenarios, horizon, days, seed
        self._history = RuntimeHistory()
        self._learnt: set[int] = set()
        #: Called with the number of scenarios simulated and their total.
        self.watch: Callable[[int, int], None] = lambda _, __: None

    @property
    def knows_runtimes(self) -> bool:
        """
        Whether any job had ended by the last forecast. If not, all runtimes are requested times.
        """
        return bool(self._learnt)

    def forecast(self, present: Present, handles: IntArray) -> StartForecast:
        """
        Return the starts of some waiting or held jobs in every scenario.

        Parameters
        ----------
        present
            State of the system at the second of the forecast.
        handles
            Handles of the n jobs, shape ``(n,)``.
        """
        return self._starts(self._scenarios(present, handles), handles)

    def compare(
        self, present: Present, variants: list[Present], handle: int, *, least: float
    ) -> tuple[StartForecast, IntArray, list[IntArray]]:
        """
        Return the forecast of one job, and how much earlier it starts with other requests.

        All requests (variants) are simulated in the same S scenarios, so a difference is due to the
        request alone. A variant is given up if too few scenarios can still be earlier.

        Parameters
        ----------
        variants
            The present with another request of the job, each.
        least
            Share of scenarios in which the job must start earlier.

        Returns
        -------
        starts
            The forecast with the present request.
        runtime
            Runtime of the job in each scenario, seconds, shape ``(S,)``.
        earlier
            For each variant, the gain in each scenario, seconds, shape ``(S,)``. 0 if the job is
            not earlier, and for a variant that was given up.
        """
        handles = np.array([handle])
        drawn = self._scenarios(present, handles)
        starts = self._starts(drawn, handles, 1 + len(variants))
        earlier = []
        for at, variant in enumerate(variants, 1):
            self.watch(at * self.scenarios, (1 + len(variants)) * self.scenarios)
            earlier.append(_earlier(drawn, variant, starts, self._horizon, least))
        limit = int(present.jobs.workload.requested_time[handle])
        return starts, np.minimum(drawn.runtime[:, handle], limit), earlier

    def ends_within(self, present: Present, handle: int, seconds: int) -> float | None:
        """
        Return the probability that a waiting job runs for at most some seconds. None if unknown.

        It is unknown until a job has ended.
        """
        self._learn(present)
        if not self.knows_runtimes:
            return None
        likely = self._history.of(JobTable(present.table.store, np.array([handle])))
        size = int(likely.size[0])
        inside = likely.runtime[0, :size] <= seconds
        return float(likely.weight[0, :size][inside].sum())

    def _scenarios(self, present: Present, handles: IntArray) -> _Scenarios:
        """Draw the scenarios of a present, and plan it by requested times."""
        self._learn(present)
        planned = self._planned(present, handles)
        seed = stream_seed(self._seed, f"forecast {present.now}")
        rng = np.random.default_rng(seed)
        runtime = self._drawn(present, seed)
        future_jobs = self._coming(present, self._latest(present.now, planned), rng)
        return _Scenarios(present, planned, runtime, future_jobs)

    def _starts(self, drawn: _Scenarios, handles: IntArray, rounds: int = 1) -> StartForecast:
        """Simulate each scenario until jobs have started."""
        present = drawn.present
        seconds = np.empty((self.scenarios, len(handles)), dtype=np.int64)
        for number in range(self.scenarios):
            self.watch(number, rounds * self.scenarios)
            future = drawn.future(present, number)
            seconds[number] = _played(future, handles, present.now + self._horizon)
        return StartForecast(present.now, handles, seconds, drawn.planned)

    def _planned(self, present: Present, handles: IntArray) -> IntArray:
        runtime = np.maximum(present.jobs.workload.requested_time, 1)
        simulator = present.future(runtime, FutureJobs.none())
        return _played(simulator, handles, present.now + self._horizon)

    def _latest(self, now: int, planned: IntArray) -> int:
        """Return until when jobs arrive: arrivals after the planned starts do not matter."""
        last = int(np.where(planned == NEVER, now, planned).max(initial=now))
        if (planned == NEVER).any():
            return now + self._horizon
        return min(last + (last - now) // 2 + _DAY // 4, now + self._horizon)

    def _learn(self, present: Present) -> None:
        """Learn from the jobs that have ended since the last forecast."""
        workload, table = present.jobs.workload, present.table
        began = present.state["start_time"] != MISSING
        ended = np.flatnonzero((table.column(c.STATE) == c.ENDED) & began)
        end = present.state["end_time"][ended]
        order = ended[np.argsort(end, kind="stable")]
        new = [row for row in order[-_LEARNT:].tolist() if row not in self._learnt]
        self._learnt.update(new)
        jobs = JobTable(table.store, np.array(new, dtype=np.int64))
        ran = np.minimum(workload.runtime, workload.requested_time)[jobs.rows]
        facts = self._history.facts(jobs).tolist()
        for known, runtime in zip(facts, np.maximum(ran, 1).tolist(), strict=True):
            self._history.learn(known, float(runtime))

    def _drawn(self, present: Present, seed: int) -> IntArray:
        """Draw runtimes, shape ``(S, K)``; those of jobs that have ended are 1."""
        runs = present.in_state(c.RUNNING)
        rows = np.concatenate([runs, present.in_state(c.WAITING, c.HELD)])
        elapsed = np.zeros(len(rows), dtype=np.int64)
        elapsed[: len(runs)] = present.elapsed(runs)
        jobs = JobTable(present.table.store, rows)
        requested = np.maximum(jobs.requested_time, elapsed + 1)
        likely = self._history.of(jobs)
        drawn = np.ones((self.scenarios, len(present)), dtype=np.int64)
        alone = np.sort(likely.sample(self.scenarios, seed % 2**31, elapsed, requested), axis=0)
        longest = alone[round(self.scenarios * (1 - _WHOLE)) :]
        np.maximum(longest, requested, out=longest)
        drawn[:, rows] = _together(alone, jobs.column(c.USER), np.random.default_rng(seed + 1))
        return drawn

    def _coming(self, present: Present, until: int, rng: np.random.Generator) -> list[FutureJobs]:
        """Draw the jobs that come in each scenario."""
        if not self._days:
            return [FutureJobs.none()] * self.scenarios
        past = PastDays(present.table.submit, present.now, self._days)
        drawn = [(*past.draw(until, rng), int(rng.integers(2**31))) for _ in range(self.scenarios)]
        # The same jobs come in many scenarios.
        ever = np.unique(np.concatenate([like for like, _, _ in drawn]))
        likely = self._history.of(JobTable(present.table.store, ever))
        future_jobs = []
        for like, submit, seed in drawn:
            own = likely.take(np.searchsorted(ever, like))
            nothing = np.zeros(len(like), dtype=np.int64)
            requested = JobTable(present.table.store, like).requested_time
            runtime = own.sample(1, seed, nothing, requested)[0]
            future_jobs.append(FutureJobs(like=like, submit=submit, runtime=runtime))
        return future_jobs


def _together(drawn: IntArray, user: IntArray, rng: np.random.Generator) -> IntArray:
    """
    Return runtimes, shape ``(S, n)``, in an order in which many are long in the same scenarios.

    Each job keeps its runtimes, which are sorted; in which scenario each comes follows a normal
    variable with parts of its user's, of all jobs' and of its own (a Gaussian copula).
    """
    size = num, jobs = drawn.shape
    # A user that is not known is another one for each job.
    _, user_of = np.unique(np.where(user < 0, -1 - np.arange(jobs), user), return_inverse=True)
    parts = rng.normal(size=size)[:, user_of], rng.normal(size=(num, 1)), rng.normal(size=size)
    mixed = sum(np.sqrt(share) * part for share, part in zip(_SHARES, parts, strict=True))
    rank = np.argsort(np.argsort(mixed, axis=0), axis=0)
    reordered: IntArray = np.take_along_axis(drawn, rank, axis=0)
    return reordered


def _earlier(
    drawn: _Scenarios, variant: Present, starts: StartForecast, horizon: int, least: float
) -> IntArray:
    """
    Return by how many seconds the only job starts earlier in a variant, shape ``(S,)``.

    All are 0 where it does so in less than the least share of the scenarios.
    """
    before = np.minimum(starts.scenario[:, 0], NEVER // 2)
    earlier = np.zeros(len(before), dtype=np.int64)
    misses, max_misses = 0, floor((1 - least) * len(before) + _ROUNDING)
    for number, second in enumerate(starts.scenario[:, 0].tolist()):
        end = min(second, starts.now + horizon)
        start = int(_played(drawn.future(variant, number), starts.handle, end)[0])
        if start == NEVER:
            misses += 1
            if misses > max_misses:
                return np.zeros_like(earlier)
        else:
            earlier[number] = before[number] - start
    return earlier


def _played(simulator: Simulator, handles: IntArray, end: int) -> IntArray:
    """Return the starts of the jobs before a second, with the shape of ``handles``."""
    begin = at = simulator.now
    while at < end and (simulator.start_time[handles] == MISSING).any():
        at = min(at + max(int(_STEP * (at - begin)), _FIRST_STEP), end)
        simulator.run(until=at)
    start: IntArray = simulator.start_time[handles]
    return np.where(start == MISSING, NEVER, start)


class PastDays:
    """
    Past days whose arrivals are repeated as future arrivals.

    A day begins at the present time of day. If less than a day is known, the known time is repeated
    at once. If less than an hour is known, it is repeated once an hour, because the first seconds
    of a log do not show the rate of arrivals.

    Parameters
    ----------
    submit
        Submit times of the K jobs so far, shape ``(K,)``, non-decreasing.
    now
        The present second.
    days
        Number of past days that may be repeated.
    """

    def __init__(self, submit: IntArray, now: int, days: int) -> None:
        self._submit, self._now = submit, now
        known = now - int(submit[0]) if len(submit) else 0
        self._num_days = min(max(known // _DAY, 1), days)
        self._day = _DAY if known >= _DAY else max(known, _HOUR)

    def draw(self, until: int, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
        """
        Return sampled arrivals up to a second, in submit order.

        Returns
        -------
        like, submit
            Handles of the repeated jobs, and their new submit times, shape ``(m,)``.
        """
        like, submit = [], []
        for ahead in range(0, until - self._now, self._day):
            back = int(rng.integers(1, self._num_days + 1)) * self._day
            begin = self._now - back
            first, end = np.searchsorted(self._submit, [begin, begin + self._day], side="right")
            like.append(np.arange(first, end))
            submit.append(self._submit[first:end] + back + ahead)
        nothing = np.zeros(0, dtype=np.int64)
        jobs, seconds = np.concatenate([nothing, *like]), np.concatenate([nothing, *submit])
        keep = seconds <= until
        return jobs[keep], seconds[keep]
