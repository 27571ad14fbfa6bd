"""
Run a queue of jobs on a private Slurm and record what it does.

``record.py priorities --seed 1 --speed 20 --out DIR`` starts a Slurm of the site ``priorities``,
whose clock goes 20 times as fast as the machine's, submits the queue of that name, asks at several
moments for priorities, shares and the queue, and writes to DIR:

``sacct.txt``
    What accounting says when all jobs have ended.
``snapshots.json.gz``
    A list of ``{"time": ..., "end": ..., "output": {command: text}}``; times in seconds since 1970,
    before the first and after the last command.
``slurmctld.log.gz``
    The controller's lines about scheduling.
``plans.log.gz``
    What each backfill pass plans: when jobs are to start, and where. Large.
``slurm.conf``, ``gres.conf``, ``accounts.txt``
    The site.
``assoc*.txt``, ``qos.txt``, ``config.txt``, ``nodes.txt``, ``partitions.txt``, ``reservations.txt``
    The site as ``sacctmgr`` and ``scontrol`` show it.

With ``--decide easy`` cpsched decides instead of Slurm's scheduler, by the loop of ``cpsched slurm
sandbox`` and under the same clock: jobs are submitted held, and Slurm only starts what is released
(``sched/builtin``). ``decided.json`` has the dispatcher and where each job ran.

Names of the machine and its folders are replaced. Needs ``slurmctld``, ``slurmd``, ``slurmdbd``,
``mariadb-server`` and ``faketime``; root, where jobs belong to several users (they are made and
removed).
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import queues
from accounted import AccountedSite, AccountedSlurm

from cpsched.slurm.live.plan import system_of
from cpsched.slurm.live.scontrol import Scontrol
from cpsched.slurm.sandbox.follower import Follower, warm_up
from cpsched.slurm.sandbox.loop import SandboxLoop

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from queues import Submission

HERE = Path(__file__).parent
#: When the clock of a recording starts; a Monday.
START = "2026-03-02 08:00:00"
SACCT = (
    "JobID,JobIDRaw,JobName,User,Account,QOS,Partition,Submit,Eligible,Start,End,Elapsed,ElapsedRaw,"
    "Timelimit,TimelimitRaw,State,ExitCode,ReqTRES,AllocTRES,ReqCPUS,ReqMem,NNodes,NCPUS,NodeList,Priority,"
    "Reason,Flags,Constraints,Reservation,Suspended,Reserved,DBIndex,Cluster,AssocID,SubmitLine"
)
_JOB = (
    "JobID,JobArrayID,UserName,Account,Partition,QOS,State,Reason,PriorityLong,SubmitTime,"
    "EligibleTime,StartTime,TimeLimit,NumNodes,NumCPUs,tres-alloc,ReqNodes,NodeList,Nice,"
    "Dependency,Licenses,AccrueTime,LastSchedEval,PreemptTime"
)
SNAPSHOT = {
    "squeue": ("squeue", "-a", "-r", "-O", ",".join(f"{name}:|" for name in _JOB.split(","))),
    "sprio -l": ("sprio", "-l"),
    "sprio -n": ("sprio", "-h", "-n", "-o", "%i|%r|%a|%b|%f|%j|%p|%q|%t|%y|%Y|%N"),
    "sshare": ("sshare", "-a", "-l", "-P"),
    "assoc_mgr": ("scontrol", "-o", "show", "assoc_mgr", "flags=assoc,qos"),
    "licenses": ("scontrol", "-o", "show", "licenses"),
    "sdiag": ("sdiag",),
}
SITE = {
    "assoc.txt": ("sacctmgr", "-P", "show", "assoc"),
    "assoc-tree.txt": ("sacctmgr", "-P", "show", "assoc", "tree"),
    "assoc-parents.txt": (
        *("sacctmgr", "-P", "show", "assoc"),
        "format=User,Share,ParentName,Account,Priority,GrpTRES,MaxJobs,DefaultQOS,QOS",
    ),
    "qos.txt": ("sacctmgr", "-P", "show", "qos"),
    "config.txt": ("scontrol", "show", "config"),
    "nodes.txt": ("scontrol", "show", "node"),
    "partitions.txt": ("scontrol", "show", "partition"),
    "reservations.txt": ("scontrol", "show", "reservation"),
}
#: Lines of the controller that say what it decides.
KEPT = re.compile(
    r"sched: (Running|Allocate)|_attempt_backfill: (beginning|reached|completed|yielding|no jobs)"
    r"|_start_job|preempt|_slurm_rpc_submit|_job_complete|[Rr]equeu|priority/|schedule: "
)

#: Lines that say when backfill plans to start jobs, and on which nodes.
PLANS = re.compile(r"_dump_job_sched|_attempt_backfill: (beginning|completed)")

#: What a site changes so that jobs are started from outside, and what its jobs are submitted with.
FROM_OUTSIDE = (
    "SchedulerType=sched/builtin",
    "SchedulerParameters=batch_sched_delay=0,default_queue_depth=2000,sched_interval=2",
)
HELD = ("--hold",)
#: Seconds of the fast clock between two polls.
EVERY = 1


def main() -> None:
    parser = argparse.ArgumentParser(description="Run a queue on a private Slurm and record it.")
    parser.add_argument("site", help="a folder beside this script")
    parser.add_argument("--queue", help="a function of queues.py [the site's name]")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--speed", type=int, default=20, help="seconds of Slurm per second")
    parser.add_argument("--every", type=int, default=1200, help="seconds between snapshots")
    parser.add_argument("--snapshots", type=int, default=8)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--first", type=int, help="only so many submissions")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--keep", action="store_true", help="keep the folder of the cluster")
    parser.add_argument("--decide", metavar="DISPATCHER", help="decide by cpsched, not by Slurm")
    arguments = parser.parse_args()
    if "FAKETIME" not in os.environ:
        _accelerated(arguments.speed)
    queue = getattr(queues, arguments.queue or arguments.site)(arguments.seed)[: arguments.first]
    folder = Path(tempfile.mkdtemp(prefix="slurm-"))
    arguments.out.mkdir(parents=True, exist_ok=True)
    try:
        with ExitStack() as held:
            held.enter_context(users({job.user for job in queue if job.user}))
            changes = [*(FROM_OUTSIDE if arguments.decide else ()), *arguments.set]
            site = _changed(AccountedSite.read(HERE / arguments.site), changes)
            cluster = held.enter_context(AccountedSlurm(folder / "slurm", site))
            if arguments.decide:
                queue = [replace(job, options=(*job.options, *HELD)) for job in queue]
                held.enter_context(Deciding(cluster, arguments.decide, arguments.out))
            record(cluster, queue, arguments)
    finally:
        if not arguments.keep:
            shutil.rmtree(folder)
    print(arguments.out)


def _accelerated(speed: int) -> None:
    """Run this script again under a clock that starts at START and goes faster."""
    os.environ["TZ"] = "UTC"
    clock = f"@{START} x{speed}"
    os.execvp("faketime", ["faketime", "-f", clock, sys.executable, *sys.argv])  # never returns


class users:  # noqa: N801 - used as a function
    """Make users of the machine for a while."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = sorted(names)

    def __enter__(self) -> None:
        for name in self._names:
            subprocess.run(["useradd", "--no-create-home", "--no-user-group", name], check=True)

    def __exit__(self, *_: object) -> None:
        for name in self._names:
            subprocess.run(["userdel", "--force", name], check=False)


class Deciding:
    """
    The loop of a sandbox, in a thread of this process, whose clock is the fast one.

    ``cpsched slurm sandbox`` waits by means that a fast clock does not reach (``sem_clockwait``).
    """

    def __init__(self, cluster: AccountedSlurm, dispatcher: str, out: Path) -> None:
        system = system_of(Scontrol(cluster.environment))
        warm_up(system, dispatcher)
        self._dispatcher, self._out = dispatcher, out
        self._is_stopped = False
        self._lines: list[str] = []
        self._loop = SandboxLoop(cluster, Follower(system, dispatcher), say=self._say)
        self._pool = ThreadPoolExecutor(1)

    def __enter__(self) -> None:
        self._running = self._pool.submit(self._run)

    def __exit__(self, *_: object) -> None:
        self._is_stopped = True
        self._running.result()
        jobs = [result._asdict() for result in self._loop.results]
        text = json.dumps({"dispatcher": self._dispatcher, "jobs": jobs}, indent=1)
        (self._out / "decided.json").write_text(text)
        (self._out / "decided.log").write_text("\n".join([*self._lines, ""]))

    def _run(self) -> None:
        while not self._is_stopped:
            self._loop.cycle()
            time.sleep(EVERY)

    def _say(self, line: str) -> None:
        self._lines.append(f"{time.strftime('%H:%M:%S')} {line}")


def _changed(site: AccountedSite, changes: list[str]) -> AccountedSite:
    """Return a site with parameters of slurm.conf set."""
    text = site.conf
    for change in changes:
        key = change.split("=")[0]
        text = re.sub(rf"(?m)^{key}=.*\n", "", text)
        text = f"{change}\n{text}"
    return replace(site, conf=text)


def record(cluster: AccountedSlurm, queue: list[Submission], arguments: argparse.Namespace) -> None:
    """Submit the queue, take snapshots, wait for the end, and write everything down."""
    clean = _cleaner(cluster)
    site = cluster.accounts
    texts = {"slurm.conf": site.conf, "gres.conf": site.gres, "accounts.txt": site.accounts}
    for name, text in texts.items():
        (arguments.out / name).write_text(text)
    for name, command in SITE.items():
        (arguments.out / name).write_text(clean(cluster.run(*command)))
    day = START.split()[0]
    # Until after the end: sacct leaves out what ends later.
    sacct = ("sacct", "-a", "-X", "-P", "-D", "-S", day, "-E", "2026-03-09", "-o", SACCT)
    cluster.run(*sacct)
    start = time.time() + 30
    ids: dict[int, str] = {}
    taken: list[dict[str, Any]] = []
    for at, _, what, number in sorted(_events(queue, arguments)):
        time.sleep(max(0.0, start + at - time.time()))
        if what == "submit":
            ids[number] = _submit(cluster, queue[number], ids, arguments.speed)
        elif what == "cancel":
            cluster.run("scancel", "--quiet", "--state=PENDING", ids[number], check=False)
        else:
            taken.append(_snapshot(cluster, clean))
            _pack(arguments.out / "snapshots.json.gz", json.dumps(taken, indent=0).encode())
    while cluster.run("squeue", "-h", "-t", "PD,R,CG,S,CF,RQ"):
        stuck = cluster.run("squeue", "-h", "-t", "PD", "-o", "%i %r")
        for line in stuck.splitlines():
            job, reason = line.split(maxsplit=1)
            if reason == "DependencyNeverSatisfied":
                cluster.run("scancel", job, check=False)
        time.sleep(60)
    time.sleep(60)
    (arguments.out / "sacct.txt").write_text(clean(cluster.run(*sacct)))
    log = (cluster.folder / "log" / "slurmctld.log").read_text(errors="replace")
    for name, pattern in (("slurmctld.log.gz", KEPT), ("plans.log.gz", PLANS)):
        text = "\n".join(line for line in clean(log).splitlines() if pattern.search(line))
        _pack(arguments.out / name, text.encode())


def _pack(path: Path, data: bytes) -> None:
    path.write_bytes(gzip.compress(data, 9, mtime=0))


def _events(
    queue: list[Submission], arguments: argparse.Namespace
) -> Iterator[tuple[int, int, str, int]]:
    for number, job in enumerate(queue):
        yield job.at, 0, "submit", number
        if job.cancel is not None:
            yield job.cancel, 1, "cancel", number
    for number in range(1, arguments.snapshots + 1):
        yield number * arguments.every, 2, "snapshot", number


def _submit(cluster: AccountedSlurm, job: Submission, ids: dict[int, str], speed: int) -> str:
    """
    Submit a job and return its id; it sleeps on the machine's own clock.

    It is one process: an orphan of a killed script holds its nodes until somebody reaps it.
    """
    options = [
        o.format(after=ids.get(job.after if job.after is not None else -1)) for o in job.options
    ]
    if job.user is not None:
        options.append(f"--uid={job.user}")
    seconds = f"{job.seconds / speed:.3f}"
    script = f"exec /bin/sleep {seconds}"
    if job.fails:
        script = f"exec perl -e 'select(undef, undef, undef, {seconds}); exit 1'"
    fixed = ("--parsable", "--export=NIL", "--output=/dev/null", "--chdir=/tmp")
    return cluster.run("sbatch", *fixed, *options, f"--wrap={script}").strip()


def _snapshot(cluster: AccountedSlurm, clean: Any) -> dict[str, Any]:
    begin = time.time()
    output = {name: clean(cluster.run(*command)) for name, command in SNAPSHOT.items()}
    return {"time": begin, "end": time.time(), "output": output}


def _cleaner(cluster: AccountedSlurm) -> Any:
    """Return a function that takes names of this machine out of a text."""
    host = socket.gethostname()
    names = {str(cluster.folder): "/slurm", host: "head", host.split(".")[0]: "head"}

    def clean(text: str) -> str:
        for name, other in names.items():
            text = re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", other, text)
        text = re.sub(r"(?m)^( +OS=)\S+.*$", r"\1Linux", text)
        return re.sub(r"[ \t]+$", "", text, flags=re.M)

    return clean


if __name__ == "__main__":
    main()
