"""
Why jobs wait, and who preempts whom: a real Slurm and the dispatcher ``slurm`` at the same moments.

``moments.py DIR ...`` takes recordings of ``record.py``. Up to a moment every job starts when, and
where, Slurm started it; then ``slurm`` decides alone. At each snapshot the reason that ``squeue``
gives for each waiting job stands beside the one of ``slurm``; just before each preemption of the
record, ``slurm`` is given a minute to preempt.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import tempfile
from collections import Counter
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cpsched import logs
from cpsched.dispatch.allocators import make_allocator
from cpsched.dispatch.contract import Dispatcher
from cpsched.model import columns as c
from cpsched.model.decision import NOTHING, Decision, Requeue, Start
from cpsched.model.schedule import JobOutcome
from cpsched.simulation.simulator import Simulator
from cpsched.slurm.config.importer import Files, ImportedSite, read_site
from cpsched.slurm.dispatch.dispatcher import Slurm
from cpsched.systems.mapping import fit
from cpsched.util.node_lists import expand
from cpsched.util.spec import build
from cpsched.util.types import MISSING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cpsched.model.system import System
    from cpsched.model.view import View
    from cpsched.model.workload import Workload
    from cpsched.systems.mapping import Fitted

#: Seconds for which ``slurm`` decides after a moment.
WINDOW = 60
#: Seconds before a moment: Slurm's reason stands until a pass comes to the job and finds another.
BEFORE = (5, 15, 60, 300, 900, 1800)
#: Reasons of jobs that wait for nodes: which of them it is depends on the pass that wrote it.
NODES = "nodes"
#: What ``slurm`` says of a job that it starts at that moment.
STARTS = "starts"
_FOR_NODES = re.compile(r"None|Priority|Resources|Nodes required for job|ReqNodeNotAvail")


class Attempt(NamedTuple):
    """One time a job ran, as accounting has it; seconds since 1970."""

    job: str
    start: int
    end: int
    nodes: tuple[str, ...]
    preempted: bool


class Snapshot(NamedTuple):
    """The lines of ``squeue`` at a second since 1970."""

    at: int
    queue: list[dict[str, str]]


@dataclass(frozen=True, kw_only=True)
class Recording:
    """
    What a real Slurm did, and the site it did it on.

    Attributes
    ----------
    log
        The jobs; each attempt of a preempted one by itself.
    attempts
        By job and second of start.
    """

    folder: Path
    site: ImportedSite
    log: Workload
    attempts: dict[tuple[str, int], Attempt]

    @classmethod
    def read(cls, folder: Path) -> Recording:
        """Read a folder that ``record.py`` has written."""
        with tempfile.TemporaryDirectory() as made:
            unpacked = Path(made)
            text = _text(folder, "sacct.txt")
            # A preempted attempt held nodes until then.
            (unpacked / "sacct.txt").write_text(text.replace("|PREEMPTED|", "|NODE_FAIL|"))
            log = logs.read(unpacked / "sacct.txt", format="sacct")
        known = [folder / f"{name}.txt" for name in ("config", "nodes", "partitions")]
        more = folder / "reservations.txt"
        if all(path.exists() for path in known):
            described: dict[str, Any] = {"scontrol": (*known, *([more] if more.exists() else []))}
        else:
            described = {"conf": folder / "slurm.conf"}
        optional = {"assoc": "assoc-tree.txt", "qos": "qos.txt"}
        given = {key: folder / name for key, name in optional.items() if (folder / name).exists()}
        files = Files(**described, **given)
        return cls(
            folder=folder,
            site=read_site(files, folder.name),
            log=log,
            attempts={(attempt.job, attempt.start): attempt for attempt in _attempts(text)},
        )

    def snapshots(self) -> list[Snapshot]:
        """
        Return the queue at several moments.

        Each is the last second at which squeue says that something had happened: the recorder's
        clock is not Slurm's, each runs faster from the start of its own process.
        """
        taken = json.loads(_text(self.folder, "snapshots.json"))
        queues = [list(_table(snapshot["output"]["squeue"])) for snapshot in taken]
        return [Snapshot(_last(queue), queue) for queue in queues]

    def preemptions(self) -> list[tuple[int, str]]:
        """Return when jobs were preempted, as the controller's log has it; none without one."""
        line = re.compile(r"\[(\S+)\] preempted JobId=(\d+)(?:_\d+)?(?:\((\d+)\))? has been")
        raw_ids = {
            line["JobIDRaw"]: line["JobID"] for line in _table(_text(self.folder, "sacct.txt"))
        }
        # "41_5(41)": task 5 of array 41, which has the raw id 41.
        return [
            (_second(at), raw_ids[raw or job])
            for at, job, raw in line.findall(_text(self.folder, "slurmctld.log"))
        ]


def _text(folder: Path, name: str) -> str:
    path = folder / name
    if path.exists():
        return path.read_text()
    return gzip.decompress((folder / f"{name}.gz").read_bytes()).decode()


def _second(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())


def _last(queue: list[dict[str, str]]) -> int:
    """Return the last second at which something had happened to a job."""
    seen = [job["LAST_SCHED_EVAL"] for job in queue] + [job["SUBMIT_TIME"] for job in queue]
    seen += [job["START_TIME"] for job in queue if job["STATE"] == "RUNNING"]
    return max(_second(text) for text in seen if text != "N/A")


def _table(text: str) -> Iterator[dict[str, str]]:
    header, *lines = text.splitlines()
    names = header.split("|")
    # squeue has two columns of one name; the last counts.
    return (dict(zip(names, line.split("|"), strict=False)) for line in lines)


def _attempts(text: str) -> Iterator[Attempt]:
    for line in _table(text):
        if line["NodeList"] not in ("", "None assigned") and line["Start"] not in ("", "Unknown"):
            yield Attempt(
                line["JobID"],
                _second(line["Start"]),
                _second(line["End"]),
                tuple(expand(line["NodeList"], 10_000)),
                line["State"] == "PREEMPTED",
            )


class Recorded(Dispatcher):
    """Starts jobs when and where Slurm did, and from a second on does what ``slurm`` does."""

    name = "recorded"
    acts_when_idle = True

    def __init__(self, slurm: Slurm, due: np.ndarray, nodes: list[np.ndarray], until: int) -> None:
        self.slurm, self.until = slurm, until
        self._due, self._nodes = due, nodes
        self._placer = make_allocator("first-fit")
        #: What was decided, with the second; and the reason of each job that waited at the moment.
        self.decided: list[tuple[int, Any]] = []
        self.reasons: dict[int, str] = {}

    def on_epoch(self, epoch: int | None) -> None:
        """Pass it on."""
        self.slurm.on_epoch(epoch)

    def reset(self, system: System, seed: int) -> None:
        """Prepare for a system."""
        self.slurm.reset(system, seed)
        self._placer.reset(system)

    def decide(self, view: View) -> Decision:
        """Start what Slurm started then; from the second on do what ``slurm`` does."""
        starts = [] if view.now > self.until else self._recorded(view)
        if starts:
            return Decision(starts, again_at=view.now)
        if view.now < self.until:
            # It learns who waits and runs, and finds no free capacity to start anything.
            nothing = np.zeros_like(view.free)
            nothing.flags.writeable = False
            again = self.slurm.passes.decide(replace(view, free=nothing)).again_at
            coming = self._due[view.waiting.handle]
            coming = coming[(coming != MISSING) & (coming > view.now)].tolist()
            return NOTHING._replace(
                again_at=min([*coming, self.until, *([again] if again else [])])
            )
        if view.now == self.until and not self.decided:
            # All passes are due that look at everything.
            eligible = view.eligible.copy()
            eligible.flags.writeable = False
            view = replace(view, eligible=eligible)
        decision = self.slurm.decide(view)
        self.decided += [(view.now, action) for action in decision.actions]
        if view.now == self.until:
            self._note_reasons(view, decision)
        return decision

    def never_starts(self, view: View) -> Any:
        """Return them all: what is left when all is over is no error."""
        return dict.fromkeys(view.waiting.rows.tolist(), "waits when all is over")

    def _recorded(self, view: View) -> list[Start]:
        handles = view.waiting.handle
        due = self._due[handles]
        free = np.array(view.free)
        starts = []
        for at in np.flatnonzero((due != MISSING) & (due <= view.now)).tolist():
            where = self._nodes[handles[at]]
            free_of_job = np.zeros_like(free)
            free_of_job[where] = free[where]
            allocation = self._placer.place(view, int(view.waiting.rows[at]), free_of_job)
            if allocation is not None:
                free[allocation.node] -= allocation.amount
                starts.append(Start(int(handles[at]), allocation))
        return starts

    def _note_reasons(self, view: View, decision: Decision) -> None:
        started = {action.handle for action in decision.actions if isinstance(action, Start)}
        passes = self.slurm.passes
        for row, handle in zip(
            view.waiting.rows.tolist(), view.waiting.handle.tolist(), strict=True
        ):
            note = passes.wait_note(row).partition(":")[0]
            # Slurm says of nodes that a reservation keeps that they are not available.
            reason = note if note and not note.startswith("reservation ") else NODES
            self.reasons[handle] = STARTS if handle in started else reason


@dataclass(frozen=True, kw_only=True)
class Moment:
    """What ``slurm`` says and does from a moment on."""

    reasons: dict[str, str]
    preempted: list[str]


def play(recording: Recording, at: int, seconds: int = 0) -> Moment:
    """
    Let the record happen until a second since 1970, and ``slurm`` decide from then on.

    Parameters
    ----------
    seconds
        For how long after it.
    """
    fitted, moment = _fitted(recording, at), at - recording.log.epoch
    jobs = fitted.workload
    index = {name: number for number, name in enumerate(recording.site.system.node_names)}
    nodes = []
    for job, start in zip(jobs.job_id, jobs.recorded_start.tolist(), strict=True):
        ran = recording.attempts.get((_base(str(job)), start + recording.log.epoch))
        nodes.append(np.array([index[name] for name in ran.nodes] if ran else [], dtype=np.int64))
    # Every moment is one at which all passes are due.
    now = {"sched_interval": 1, "bf_interval": 1, "batch_sched_delay": 0, "sched_min_interval": 0}
    slurm = Slurm(recording.site.policy.with_parameters(now))
    recorded = Recorded(slurm, jobs.recorded_start, nodes, moment)
    simulator = Simulator(fitted, recorded, build("predictors", "requested"), overrun="extend")
    while (then := simulator.next_time()) is not None and then <= moment + seconds:
        simulator.step()
    reasons = {str(jobs.job_id[handle]): why for handle, why in recorded.reasons.items()}
    for handle, why in _held(simulator):
        reasons[str(jobs.job_id[handle])] = why
    return Moment(
        reasons={_base(name): why for name, why in reasons.items()},
        preempted=[
            _base(str(jobs.job_id[action.handle]))
            for _, action in recorded.decided
            if isinstance(action, Requeue)
        ],
    )


def _fitted(recording: Recording, at: int) -> Fitted:
    """Return the jobs; those run on, whatever the record says, that are preempted later."""
    log, epoch = recording.log, recording.log.epoch
    runtime = log.runtime.copy()
    for row, (job, start) in enumerate(zip(log.job_id, log.recorded_start.tolist(), strict=True)):
        ran = recording.attempts.get((_base(str(job)), start + epoch))
        if ran is not None and ran.preempted and ran.end > at:
            runtime[row] = max(int(log.requested_time[row]), ran.end - ran.start)
    jobs = log.with_columns(runtime=runtime)
    fitted = fit(jobs, recording.site.system, enforce_time_limits=False, restarts="share=1")
    if fitted.rejected:
        raise ValueError(f"jobs that fit nowhere: {fitted.rejected[:3]}")
    return fitted


def _held(simulator: Simulator) -> Iterator[tuple[int, str]]:
    """Return why the jobs wait that were submitted and are not in the queue."""
    jobs = simulator.arrivals
    for handle in range(simulator.machine.store.size):
        before = int(jobs.dependency[handle])
        if simulator.machine.store.columns[handle, c.STATE] == c.HELD:
            waits = before >= 0 and simulator.outcome[before] == JobOutcome.NOT_ENDED
            # Of a job that asks for a reservation, accounting's Eligible is when that begins.
            reserved = simulator.machine.store.columns[handle, c.RESERVATION] >= 0
            begins = "Reservation" if reserved else "BeginTime"
            yield handle, "Dependency" if waits else begins


def _base(job: str) -> str:
    """Return the id of a job without the number of the attempt."""
    return job.partition("#")[0]


class Compared(NamedTuple):
    """Why a job waits: as Slurm says, and as we do, now and at moments before."""

    job: str
    theirs: str
    ours: str
    before: frozenset[str]


def compared(
    recording: Recording, snapshot: Snapshot, before: Sequence[int] = BEFORE
) -> list[Compared]:
    """
    Return the reasons of the jobs that wait at a snapshot, and are in the accounting's log.

    Parameters
    ----------
    before
        At how many seconds before it we are asked, too.
    """
    logged = {_base(str(job)) for job in recording.log.job_id}
    ours, *earlier = (play(recording, snapshot.at - ago).reasons for ago in (0, *before))
    reasons = []
    for line in snapshot.queue:
        job, reason = line["JOBID"], line["REASON"].split(",")[0]
        if line["STATE"] == "PENDING" and job in logged:
            theirs = NODES if _FOR_NODES.match(reason) else reason
            then = frozenset(known[job] for known in earlier if job in known)
            reasons.append(Compared(job, theirs, ours.get(job, "gone"), then))
    return reasons


class Preempted(NamedTuple):
    """Who is preempted within :data:`WINDOW` seconds of a moment, by Slurm and by us."""

    at: int
    theirs: frozenset[str]
    ours: frozenset[str]


def preempted(recording: Recording) -> list[Preempted]:
    """Return who is preempted from each moment on at which Slurm preempts."""
    events = recording.preemptions()
    moments = []
    for at in sorted({second for second, _ in events}):
        theirs = frozenset(job for second, job in events if at <= second < at + WINDOW)
        moments.append(Preempted(at, theirs, frozenset(play(recording, at - 1, WINDOW).preempted)))
    return moments


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare reasons and preemption with a record.")
    parser.add_argument("recordings", nargs="+", metavar="DIR", type=Path)
    parser.add_argument("--jobs", action="store_true", help="name the jobs that differ")
    arguments = parser.parse_args()
    for folder in arguments.recordings:
        recording = Recording.read(folder)
        _print_reasons(recording, jobs=arguments.jobs)
        _print_preemptions(recording)


def _print_reasons(recording: Recording, *, jobs: bool) -> None:
    jobs_compared: list[Compared] = []
    for snapshot in recording.snapshots():
        new = compared(recording, snapshot)
        jobs_compared += new
        for job in new:
            if jobs and job.theirs != job.ours:
                at = datetime.fromtimestamp(snapshot.at, UTC)
                then = ", ".join(sorted(job.before))
                print(f"{at:%H:%M:%S} {job.job}: {job.theirs}, here {job.ours}, before {then}")
    print(f"{recording.folder.name}: {len(jobs_compared)} waiting jobs")
    print("| Slurm's reason | jobs | the same | the same before | otherwise |")
    print("|:--|--:|--:|--:|:--|")
    for reason in (*sorted({job.theirs for job in jobs_compared}), None):
        group = [job for job in jobs_compared if reason in (None, job.theirs)]
        same = sum(job.ours == job.theirs for job in group)
        later = sum(job.ours != job.theirs and job.theirs in job.before for job in group)
        rest = Counter(job.ours for job in group if job.theirs not in {job.ours, *job.before})
        others = ", ".join(f"{ours} {count}" for ours, count in sorted(rest.items()))
        print(f"| {reason or 'all'} | {len(group)} | {same} | {later} | {others} |")


def _print_preemptions(recording: Recording) -> None:
    moments = preempted(recording)
    for moment in moments:
        theirs, ours = (" ".join(sorted(jobs)) or "nobody" for jobs in (moment.theirs, moment.ours))
        print(f"{datetime.fromtimestamp(moment.at, UTC):%H:%M:%S}: Slurm {theirs}, here {ours}")
    same = sum(moment.theirs == moment.ours for moment in moments)
    known = sum(len(moment.theirs & moment.ours) for moment in moments)
    every, ours = (
        sum(map(len, jobs)) for jobs in zip(*(moment[1:] for moment in moments), strict=True)
    )
    print(
        f"{len(moments)} moments, the same jobs at {same}; of {every} jobs {known} here,"
        f" and {ours - known} others"
    )


if __name__ == "__main__":
    main()
