"""When the jobs of a live queue will start, and why they wait, under any dispatcher."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cpsched.errors import ConfigError
from cpsched.forecast.forecaster import Forecaster
from cpsched.forecast.when import when
from cpsched.forecast.why import why
from cpsched.model import columns as c
from cpsched.simulation.present import Present
from cpsched.simulation.simulate import Settings
from cpsched.slurm.live.dependencies import waits_for
from cpsched.slurm.live.history import DAYS
from cpsched.slurm.live.mirror import LiveMirror, Stage
from cpsched.util.types import MISSING
from cpsched.util.words import brief

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.forecast.explanation import Explanation
    from cpsched.forecast.when import QueueForecast
    from cpsched.model.system import System
    from cpsched.slurm.live.mirror import PastJob
    from cpsched.slurm.live.snapshot import LiveJob, Snapshot


class LiveQueue:
    """
    A live queue, seen for the first time: a present of which may be asked when and why.

    Jobs that users or operators hold are left out: nobody starts them.

    Parameters
    ----------
    dispatcher, predictor
        Specifications; a site's own dispatcher is ``slurm:policy=FILE``.
    past
        Jobs that have ended: runtimes are sampled from them, and their days are repeated. Without
        them, every job is assumed to use its requested time, and no new jobs arrive.
    name
        What answers call the dispatcher; by default, its specification.

    Attributes
    ----------
    name
        Of the dispatcher, in answers.
    present
        For :func:`cpsched.forecast.when.when` and :func:`cpsched.forecast.why.why`.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        system: System,
        dispatcher: str,
        predictor: str = "requested",
        past: Sequence[PastJob] = (),
        *,
        name: str | None = None,
    ) -> None:
        self.snapshot = snapshot
        self.name = name or dispatcher
        self.mirror = LiveMirror(system, dispatcher, predictor)
        ran = self.mirror.enter(snapshot, past)
        self.mirror.follow_priorities()
        for row in ran:
            self.mirror.cluster.cancel(row, self.mirror.cluster.now)
        #: Jobs that each held job waits for, by its key.
        self._waits_for = {
            key: list(waits_for(known.job, snapshot))
            for key, known in self.mirror.known.items()
            if known.stage is Stage.HELD
        }
        self.present = self._present((dispatcher, predictor), ran)
        self._days = DAYS if ran else 0

    @property
    def waits(self) -> bool:
        """Whether a job waits that may start."""
        return len(self.present.in_state(c.WAITING, c.HELD)) > 0

    def when(
        self, job: str | None = None, by: int | None = None, scenarios: int = 20
    ) -> QueueForecast:
        """
        Forecast when waiting jobs will start.

        Parameters
        ----------
        job
            Key of one job; None: all waiting jobs.
        by
            Unix time by which the probability of a start is wanted.

        Raises
        ------
        ConfigError
            If the job is not waiting, or can never run on the system; or if none is waiting.
        """
        answer = when(
            self.present,
            None if job is None else self.handle(job),
            forecaster=Forecaster(scenarios=scenarios, days=self._days),
            by=None if by is None else by - self.mirror.epoch,
        )
        return replace(answer, dispatcher=self.name)

    def why(self, job: str) -> Explanation:
        """
        Say why a waiting job does not start now, or why it would start.

        Raises
        ------
        ConfigError
            If the job is not waiting, or can never run on the system.
        """
        about = replace(why(self.present, self.handle(job)), dispatcher=self.name)
        if about.overtaken is None:
            return about
        # A mirror enters running jobs when they start.
        jobs = self.snapshot.jobs
        later = sum(other.holds and other.submit > jobs[job].submit for other in jobs.values())
        return replace(about, overtaken=later)

    def notes(self, job: str | None = None) -> list[str]:
        """Return sentences on what the forecasts of jobs, or of one job, leave out."""
        waits_for = self._waits_for if job is None else {job: self._waits_for.get(job, [])}
        return [note for key, others in waits_for.items() if (note := self._note(key, others))]

    def _note(self, key: str, others: list[LiveJob]) -> str:
        """Return a sentence on the awaited jobs that the forecast of a job leaves out."""
        last = self._last(others)
        if len(others) < 2 and last in others:
            return ""
        names = ", ".join(other.key for other in others)
        if last is None:
            return f"Job {key} waits for jobs that nobody starts: {names}." if others else ""
        return f"Job {key} waits for jobs {names}: its forecast counts only job {last.key}."

    def _last(self, jobs: list[LiveJob]) -> LiveJob | None:
        """Return the job that is expected to end last: one that waits, or the latest limit."""
        known = self.mirror.known
        known_jobs = [job for job in jobs if job.key in known and known[job.key].row >= 0]
        ends = [(job.waits, job.end == MISSING, job.end, job.submit) for job in known_jobs]
        return known_jobs[ends.index(max(ends))] if ends else None

    def slurms_view(self, job: str, expected: int | None) -> dict[str, Any]:
        """Return Slurm's own view of a job."""
        queued = self.snapshot.jobs.get(job)
        if queued is None:
            raise ConfigError(
                f"job {brief(job)} is not in the queue. squeue lists its jobs.", key="JOB"
            )
        return {"state": queued.state, "reason": queued.reason, "expects": expected}

    def handle(self, key: str) -> int:
        """
        Return the handle of a waiting job.

        Raises
        ------
        ConfigError
            If it does not wait, or can never run.
        """
        known = self.mirror.known.get(key)
        if known is None or known.stage is Stage.RUNNING:
            queued = self.snapshot.jobs.get(key)
            what = (
                "is not in the queue. squeue lists its jobs."
                if queued is None
                else f"is {queued.state}"
            )
            if queued is not None and queued.held:
                what = "is held"
            raise ConfigError(f"job {brief(key)} is not waiting to start: it {what}", key="JOB")
        if known.row < 0:
            raise ConfigError(
                f"job {brief(key)} can never run on this system: {known.why}", key="JOB"
            )
        return known.row

    def _present(self, specs: tuple[str, str], ran: dict[int, int]) -> Present:
        """
        Return the present of the mirror.

        Parameters
        ----------
        specs
            Of dispatcher and predictor.
        ran
            Runtimes of the jobs that have ended, by handle.
        """
        mirror = self.mirror
        begin, dependency = {}, {}
        for key, others in self._waits_for.items():
            row, eligible = mirror.known[key].row, mirror.known[key].job.eligible
            if eligible != MISSING and eligible > self.snapshot.now:
                begin[row] = eligible - mirror.epoch
            if (last := self._last(others)) is not None:
                dependency[row] = mirror.known[last.key].row
        return Present.of_cluster(
            mirror.cluster,
            dispatcher=specs[0],
            predictor=specs[1],
            settings=Settings(),
            ran=ran,
            begin=begin,
            dependency=dependency,
            epoch=mirror.epoch,
        )
