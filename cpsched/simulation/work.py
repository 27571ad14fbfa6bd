"""How long jobs run from each of their starts and changes of size, and what is left to do."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.model.arrays import plain
from cpsched.simulation.runtime_models import Recorded
from cpsched.util.types import JobType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.model.allocation import Allocation
    from cpsched.simulation.arrivals import JobStream
    from cpsched.simulation.runtime_models import Parts, RuntimeModel


@dataclass(slots=True)
class JobAttempt:
    """
    What a job does from one of its starts on.

    Attributes
    ----------
    left
        Parts of work at the start.
    begun
        Second from which on it makes progress, or would have: a start again takes a while.
    steps
        From when to when it does how many parts a second, the last one without an end.
    """

    left: Parts
    begun: int
    steps: list[tuple[int, int | None, Parts]] = field(default_factory=list)

    def done(self, second: int) -> Parts:
        """Return the parts done by a second."""
        done: Parts = 0
        for begin, end, speed in self.steps:
            until = second if end is None else min(end, second)
            done += speed * max(until - begin, 0)
        return min(done, self.left)


class Work:
    """
    The work of each job.

    A job that reaches its requested time is killed there, if that is the policy. For a job whose
    size may change, the limit is the work of its requested seconds on its preferred units.

    Parameters
    ----------
    arrivals
        The jobs.
    model
        How fast they run on their nodes.
    kills
        Whether a job that reaches its requested time is ended there.

    Attributes
    ----------
    will_time_out
        The running jobs that will be killed.
    """

    def __init__(self, arrivals: JobStream, model: RuntimeModel, *, kills: bool) -> None:
        self._model = model
        self._kills = kills
        self._requested = plain(arrivals.requested_time)
        self._checkpoint = plain(arrivals.checkpoint)
        self._restart_cost = plain(arrivals.restart_cost)
        self._resize_cost = plain(arrivals.resize_cost)
        self._resizable = plain(arrivals.job_type != JobType.RIGID)
        #: For these the run is stored, because more than an end may happen to it.
        self._is_stored = plain(
            arrivals.restartable
            | (arrivals.checkpoint > 0)
            | (arrivals.job_type >= JobType.MALLEABLE)
        )
        self._may_differ = bool(
            arrivals.restart_cost.any()
            or np.asarray(self._is_stored).any()
            or np.asarray(self._resizable).any()
        )
        #: What evolving jobs ask for, and after how many seconds of their runtime.
        self._resize_requests: dict[int, tuple[int, int]] = {
            row: (int(arrivals.evolve_after[row]), int(arrivals.evolve_to[row]))
            for row in np.flatnonzero(arrivals.evolve_to).tolist()
        }
        self.will_time_out: set[int] = set()
        #: Of jobs that have saved some of their work: what was left then.
        self._left: dict[int, Parts] = {}
        self._runs: dict[int, JobAttempt] = {}

    @property
    def is_recorded(self) -> bool:
        """Whether every job runs from its start to its end, as long as the log says."""
        plain = type(self._model) is Recorded and not self._may_differ
        return plain and not (self._runs or self._left)

    def start(self, row: int, allocation: Allocation, now: int, *, again: bool) -> int:
        """Return when a job that starts now will end; ``again``: it has been cut short before."""
        model = self._model
        left = self._left[row] if row in self._left else model.work(row)
        begun = now + (self._restart_cost[row] if again else 0)
        run = JobAttempt(left, begun, [(begun, None, model.speed(row, allocation))])
        if self._is_stored[row]:
            self._runs[row] = run
        return self._end(row, run)

    def end(self, row: int, allocation: Allocation, since: int, *, again: bool) -> int:
        """
        Return when a job that has held its nodes ``since`` a second will end if nothing changes.
        """
        if row in self._runs:
            return self._end(row, self._runs[row])
        return self.start(row, allocation, since, again=again)

    def _end(self, row: int, run: JobAttempt) -> int:
        """Return when a job will end if nothing changes; record whether it is killed then."""
        begin, _, speed = run.steps[-1]
        left = run.left
        if self._resizable[row]:
            left = self._within_limit(row, left)
        end = begin + _seconds(max(left - run.done(begin), 0), speed)
        latest = run.begun + self._requested[row]
        if self._kills and not self._resizable[row] and end > latest:
            self.will_time_out.add(row)
            return latest
        return end

    def _within_limit(self, row: int, left: Parts) -> Parts:
        """Return the work that a job whose size may change gets done before its limit."""
        limit = self._requested[row] * self._model.parts(row)
        if not self._kills or left <= limit:
            return left
        self.will_time_out.add(row)
        return limit

    def resize(self, row: int, allocation: Allocation, now: int) -> int:
        """Return when a running job will end that gets other nodes now."""
        run = self._runs[row]
        begin, _, speed = run.steps[-1]
        run.steps[-1] = (begin, max(now, begin), speed)
        # A pause that is not over yet is waited for.
        begin = max(now, begin) + self._resize_cost[row]
        run.steps.append((begin, None, self._model.speed(row, allocation)))
        return self._end(row, run)

    def with_model(self, model: RuntimeModel, arrivals: JobStream) -> Work:
        """
        Return the work of the same jobs, and of others after them, with other runtimes.

        The work done is the same; the remaining work differs by the difference of the runtimes.
        """
        other = Work(arrivals, model, kills=self._kills)

        def left(row: int, parts: Parts) -> Parts:
            return max(parts + model.work(row) - self._model.work(row), 0)

        other._left = {row: left(row, parts) for row, parts in self._left.items()}
        other._runs = {
            row: JobAttempt(left(row, run.left), run.begun, list(run.steps))
            for row, run in self._runs.items()
        }
        return other

    def resize_request(self, row: int, now: int) -> tuple[int, int] | None:
        """Return when a running job will request how many units if nothing changes; None: never."""
        if row not in self._resize_requests:
            return None
        after, units = self._resize_requests[row]
        run = self._runs[row]
        begin, _, speed = run.steps[-1]
        before = self._model.work(row) - run.left + run.done(now)
        left = max(after * self._model.parts(row) - before, 0)
        return max(begin, now) + _seconds(left, speed), units

    def cut_short(self, row: int, now: int, *, keeps_all: bool = False) -> None:
        """Keep what a job has saved that is taken off its nodes now, or all that it has done."""
        self.will_time_out.discard(row)
        run, every = self._runs.pop(row, None), self._checkpoint[row]
        if run is not None and (every or keeps_all):
            passed = max(now - run.begun, 0)
            saved = now if keeps_all else run.begun + passed // every * every
            self._left[row] = run.left - run.done(saved)

    def ended(self, row: int) -> bool:
        """Say whether a job that ends now is ended at its requested time."""
        if self._is_stored[row]:
            self._runs.pop(row, None)
        # Asked of every job, and nearly always there are none.
        if not self.will_time_out or row not in self.will_time_out:
            return False
        self.will_time_out.remove(row)
        return True

    def state(self) -> dict[str, Any]:
        """Return what the starts so far have left."""
        runs = {
            str(row): [str(run.left), run.begun, [(a, b, str(v)) for a, b, v in run.steps]]
            for row, run in sorted(self._runs.items())
        }
        left = {str(row): str(parts) for row, parts in sorted(self._left.items())}
        return {
            "will_time_out": np.array(sorted(self.will_time_out), dtype=np.int64),
            # Parts may be more than fit into 64 bits.
            "left": json.dumps(left),
            "runs": json.dumps(runs),
        }

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Restore what :meth:`state` returned."""
        self.will_time_out = set(saved["will_time_out"].tolist())
        self._left = {int(row): _parts(text) for row, text in json.loads(saved["left"]).items()}
        self._runs = {
            int(row): JobAttempt(_parts(left), begun, [(a, b, _parts(v)) for a, b, v in steps])
            for row, (left, begun, steps) in json.loads(saved["runs"]).items()
        }


def _seconds(parts: Parts, speed: Parts) -> int:
    """Return the number of seconds in which some parts are done."""
    return int(-(-parts // speed))


def _parts(text: str) -> Parts:
    """Read parts as they are written."""
    fraction = Fraction(text)
    return fraction.numerator if fraction.denominator == 1 else fraction
