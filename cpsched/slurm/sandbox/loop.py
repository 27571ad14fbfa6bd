"""The loop on a private Slurm: read the queue, decide, start, and check where each job runs."""

from __future__ import annotations

import time
from collections import Counter, deque
from typing import TYPE_CHECKING, NamedTuple

from cpsched.errors import RunError
from cpsched.slurm.live.mirror import Stage
from cpsched.slurm.live.scontrol import Scontrol
from cpsched.slurm.sandbox import commands
from cpsched.util.types import MISSING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from threading import Event

    from cpsched.slurm.live.snapshot import LiveJob, Snapshot
    from cpsched.slurm.sandbox.follower import Follower
    from cpsched.slurm.sandbox.private import PrivateSlurm
    from cpsched.slurm.sandbox.stream import SandboxJob

#: Seconds between polls while something happens, and while nothing does.
_FASTEST, _SLOWEST = 0.25, 1.0
#: Seconds within which Slurm has to start a job before the start is withdrawn, and how often.
_PATIENCE, _MOST_TRIES = 8, 5
#: More jobs than fit into one command line.
_AT_ONCE = 500


class JobResult(NamedTuple):
    """The outcome of a job: Unix seconds, None where it never started."""

    job: str
    state: str
    submit: int
    start: int | None
    end: int | None
    nodes: tuple[str, ...]


class SandboxLoop:
    """
    Lets a dispatcher decide on a private Slurm until all jobs have ended.

    Parameters
    ----------
    slurm
        The Slurm, which was started by this process.
    follower
        What follows its queue, with the dispatcher.
    jobs
        To submit, in order of their times.
    say
        Called with each line of output.

    Attributes
    ----------
    results
        The jobs that have ended, in that order.
    """

    def __init__(
        self,
        slurm: PrivateSlurm,
        follower: Follower,
        jobs: Sequence[SandboxJob] = (),
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._slurm, self._follower, self._say = slurm, follower, say
        self._reader = Scontrol(slurm.environment)
        self._jobs, self._began = deque(jobs), time.time()
        #: Started jobs that have not been seen running, as they were, and the time of the command.
        self._unconfirmed: dict[str, tuple[LiveJob, float]] = {}
        self._withdrawn: Counter[str] = Counter()
        self.results: list[JobResult] = []

    def run(self, stop: Event) -> None:
        """
        Decide until all jobs have ended, or stopped.

        Raises
        ------
        ConfigError
            If another cluster answers, or Slurm refuses a job of the stream.
        RunError
            If a job does not start in several tries, or runs on other nodes than those decided.
        """
        wait = _FASTEST
        while not stop.is_set():
            has_news, is_over = self.cycle()
            if is_over:
                return
            wait = _FASTEST if has_news else min(2 * wait, _SLOWEST)
            stop.wait(wait)

    def cycle(self) -> tuple[bool, bool]:
        """
        Submit what is due, read the queue, decide and start.

        Returns
        -------
        bool, bool
            Whether any job has changed, and whether all have ended.
        """
        submitted = self._submit_due()
        snapshot, follower = self._reader.snapshot(), self._follower
        before = {key: known.stage for key, known in follower.known.items()}
        gone = follower.gone(snapshot)
        ended = self._ended(gone)
        follower.follow(snapshot, ended)
        for key in gone:
            if key in ended:
                self._note_ended(ended[key], was_seen=before[key] is Stage.RUNNING)
        self._check(snapshot)
        chosen = follower.decide(snapshot.now)
        refused = commands.begin(self._slurm, chosen)
        for key, why in refused.items():
            self._say(f"job {key} is refused by Slurm: {why}")
            follower.undo(key, snapshot.now)
        now = time.time()
        for key in (start.key for start in chosen if start.key not in refused):
            self._unconfirmed[key] = snapshot.jobs[key], now
        stages = {key: known.stage for key, known in follower.known.items()}
        has_news = bool(submitted or chosen or self._unconfirmed) or stages != before
        return has_news, not (self._jobs or snapshot.jobs or submitted)

    def _submit_due(self) -> int:
        """Submit the jobs whose time has come; return their number."""
        number = len(self._jobs)
        while self._jobs and self._jobs[0].at <= time.time() - self._began:
            commands.submit(self._slurm, self._jobs.popleft())
        return number - len(self._jobs)

    def _ended(self, keys: Sequence[str]) -> dict[str, LiveJob]:
        """Return the outcomes of jobs that have left the queue."""
        jobs: list[LiveJob] = []
        for first in range(0, len(keys), _AT_ONCE):
            part = ",".join(keys[first : first + _AT_ONCE])
            jobs += self._reader.jobs("-t", "all", "-j", part)
        return {job.key: job for job in jobs if job.key in keys}

    def _check(self, snapshot: Snapshot) -> None:
        """Confirm or withdraw starts; cancel jobs that can never run."""
        for key, known in list(self._follower.known.items()):
            job = known.job
            if known.stage is Stage.UNFIT:
                self._cancel(key, known.why)
            elif known.stage is Stage.RUNNING and self._unconfirmed.pop(key, None) is not None:
                self._note_running(job)
            elif key in self._unconfirmed and job.reason.startswith("DependencyNeverSatisfied"):
                self._cancel(key, "a job that it depends on has failed")
            elif key in self._unconfirmed and time.time() - self._unconfirmed[key][1] > _PATIENCE:
                self._withdraw(key, job.reason, snapshot.now)
        for key in self._unconfirmed.keys() - snapshot.jobs.keys():
            del self._unconfirmed[key]

    def _withdraw(self, key: str, reason: str, now: int) -> None:
        """Hold a job again that has not started: Slurm places a job before it in another way."""
        why = f"job {key} has not started within {_PATIENCE} s: Slurm says {reason}"
        self._withdrawn[key] += 1
        if self._withdrawn[key] >= _MOST_TRIES:
            raise RunError(f"{why} ({_MOST_TRIES} attempts)")
        # A job that cannot be held has just started or ended.
        if commands.withdraw(self._slurm, self._unconfirmed[key][0]):
            self._say(f"{why}. It is held again")
            del self._unconfirmed[key]
            self._follower.undo(key, now)

    def _cancel(self, key: str, why: str) -> None:
        self._say(f"job {key} is cancelled: {why}")
        commands.cancel(self._slurm, key)

    def _note_running(self, job: LiveJob) -> None:
        wait = max(job.start - job.submit, 0)
        self._say(f"job {job.key} runs on {','.join(job.nodes)} after a wait of {wait} s")

    def _note_ended(self, job: LiveJob, *, was_seen: bool) -> None:
        if job.nodes and not was_seen:
            self._note_running(job)
        has_run = bool(job.nodes)
        start, end = (
            second if has_run and second != MISSING else None for second in (job.start, job.end)
        )
        self.results.append(JobResult(job.key, job.state, job.submit, start, end, job.nodes))
