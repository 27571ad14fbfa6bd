"""The forecast at one time: runtimes are drawn, past days repeated, and the rest is simulated."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.answer.starts import NEVER, Starts
from cpsched.base.types import MISSING
from cpsched.dispatch.likely import RuntimeHistory
from cpsched.errors import check_range
from cpsched.model import columns as c
from cpsched.model.jobtable import JobTable
from cpsched.model.seeds import stream_seed
from cpsched.simulation.present import Coming

if TYPE_CHECKING:
    from collections.abc import Callable

    from cpsched.base.types import IntArray
    from cpsched.simulation.present import Present
    from cpsched.simulation.simulator import Simulator

_HOUR, _DAY = 3600, 86400
#: At first, this many of the jobs that ended last are learnt from: no more are remembered.
_LEARNT = 5000
#: Time between checks whether all have started, as a share of the elapsed time.
_STEP = 0.25
#: How much of what makes a runtime long or short is its user's, all jobs', and its own.
_SHARES = (0.6, 0.3, 0.1)
#: In this share of the scenarios a job uses its whole requested time, though no job like it did:
#: what has not happened in a handful of jobs may well happen next.
_WHOLE = 0.1


class Forecaster:
    """
    Forecasts when waiting jobs will start under the dispatcher in use.

    Runtimes are drawn for every job from those of similar jobs and, if the predictor gives one,
    from its distribution (:mod:`cpsched.dispatch.likely`). Past days are repeated
    (:class:`~cpsched.answer.forecaster.PastDays`). Known outages take place.

    Parameters
    ----------
    scenarios
        How many scenarios are simulated.
    horizon
        Their longest length, seconds.
    days
        How many past days may be repeated; 0: no new jobs arrive.
    seed
        Of everything random.
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
        """Whether a job had ended by the last forecast: otherwise all use their requested times."""
        return bool(self._learnt)

    def forecast(self, present: Present, handles: IntArray) -> Starts:
        """
        Return when jobs that wait, or are held, may start.

        Parameters
        ----------
        handles
            Of the jobs, shape ``(n,)``.
        """
        return self.compare([present], handles)[0]

    def compare(self, presents: list[Present], handles: IntArray) -> list[Starts]:
        """
        Return the same for variants of the present with other requests of waiting jobs.

        All use the same scenarios, so two forecasts differ only because of the change.
        """
        first = presents[0]
        self._learn(first)
        planned = [self._planned(present, handles) for present in presents]
        latest = [self._latest(first.now, second) for second in planned]
        seconds = [np.empty((self.scenarios, len(handles)), dtype=np.int64) for _ in presents]
        seed = stream_seed(self._seed, f"forecast {first.now}")
        rng = np.random.default_rng(seed)
        drawn = self._drawn(first, seed)
        coming = self._coming(first, max(latest), rng)
        for number in range(self.scenarios):
            self.watch(number, self.scenarios)
            for present, until, found in zip(presents, latest, seconds, strict=True):
                asked = present.jobs.workload.requested_time
                runtime = np.minimum(drawn[number], np.maximum(asked, 1))
                simulator = present.future(runtime, coming[number])
                found[number] = _played(simulator, handles, until, self._horizon)
        return [
            Starts(first.now, handles, found, plan)
            for found, plan in zip(seconds, planned, strict=True)
        ]

    def ends_within(self, present: Present, handle: int, seconds: int) -> float | None:
        """Return the probability that a waiting job runs for no longer; None if no job has run."""
        self._learn(present)
        if not self.knows_runtimes:
            return None
        likely = self._history.of(JobTable(present.table.store, np.array([handle])))
        size = int(likely.size[0])
        inside = likely.runtime[0, :size] <= seconds
        return float(likely.weight[0, :size][inside].sum())

    def _planned(self, present: Present, handles: IntArray) -> IntArray:
        runtime = np.maximum(present.jobs.workload.requested_time, 1)
        simulator = present.future(runtime, Coming.none())
        return _played(simulator, handles, present.now + self._horizon, self._horizon)

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
        asked = np.maximum(jobs.requested_time, elapsed + 1)
        likely = self._history.of(jobs)
        drawn = np.ones((self.scenarios, len(present)), dtype=np.int64)
        alone = np.sort(likely.draw(self.scenarios, seed % 2**31, elapsed, asked), axis=0)
        longest = alone[round(self.scenarios * (1 - _WHOLE)) :]
        np.maximum(longest, asked, out=longest)
        drawn[:, rows] = _together(alone, jobs.column(c.USER), np.random.default_rng(seed + 1))
        return drawn

    def _coming(self, present: Present, until: int, rng: np.random.Generator) -> list[Coming]:
        """Draw the jobs that come in each scenario."""
        if not self._days:
            return [Coming.none()] * self.scenarios
        past = PastDays(present.table.submit, present.now, self._days)
        drawn = [(*past.draw(until, rng), int(rng.integers(2**31))) for _ in range(self.scenarios)]
        # The same jobs come in many scenarios.
        ever = np.unique(np.concatenate([like for like, _, _ in drawn]))
        likely = self._history.of(JobTable(present.table.store, ever))
        found = []
        for like, submit, seed in drawn:
            own = likely.take(np.searchsorted(ever, like))
            nothing = np.zeros(len(like), dtype=np.int64)
            asked = JobTable(present.table.store, like).requested_time
            runtime = own.draw(1, seed, nothing, asked)[0]
            found.append(Coming(like=like, submit=submit, runtime=runtime))
        return found


def _together(drawn: IntArray, user: IntArray, rng: np.random.Generator) -> IntArray:
    """
    Return runtimes, shape ``(S, n)``, in an order in which many are long in the same scenarios.

    Each job keeps its runtimes, which are sorted; in which scenario each comes follows a normal
    variable with parts of its user's, of all jobs' and of its own (a Gaussian copula).
    """
    size = num, jobs = drawn.shape
    # A user that is not known is another one for each job.
    _, who = np.unique(np.where(user < 0, -1 - np.arange(jobs), user), return_inverse=True)
    parts = rng.normal(size=size)[:, who], rng.normal(size=(num, 1)), rng.normal(size=size)
    mixed = sum(np.sqrt(share) * part for share, part in zip(_SHARES, parts, strict=True))
    rank = np.argsort(np.argsort(mixed, axis=0), axis=0)
    found: IntArray = np.take_along_axis(drawn, rank, axis=0)
    return found


def _played(simulator: Simulator, handles: IntArray, until: int, horizon: int) -> IntArray:
    """Return the starts of the jobs, with the shape of ``handles``."""
    begin = at = simulator.now
    while at < begin + horizon and (simulator.start_time[handles] == MISSING).any():
        at = min(at + max(int(_STEP * (at - begin)), (until - begin) // 64, 60), begin + horizon)
        simulator.run(until=at)
    start: IntArray = simulator.start_time[handles]
    return np.where(start == MISSING, NEVER, start)


class PastDays:
    """
    Past days that are repeated as future arrivals.

    A day begins at the time of day it is now. Where less than a day is known, what is known comes
    again at once; where it is less than an hour, once an hour: the first seconds of a log say
    nothing of the rate at which jobs come.

    Parameters
    ----------
    submit
        Of the jobs submitted so far, shape ``(K,)``, non-decreasing.
    now
        The second.
    days
        How many days back to draw from.
    """

    def __init__(self, submit: IntArray, now: int, days: int) -> None:
        self._submit, self._now = submit, now
        known = now - int(submit[0]) if len(submit) else 0
        self._num_days = min(max(known // _DAY, 1), days)
        self._day = _DAY if known >= _DAY else max(known, _HOUR)

    def draw(self, until: int, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
        """
        Draw arrivals up to a second: handles of the repeated jobs, and their submits.

        Returns
        -------
        like, submit
            Shape ``(m,)``; in submit order.
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
