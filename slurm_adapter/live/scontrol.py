"""Slurm's own commands as a backend: ``squeue``, ``sinfo``, and ``scontrol`` fed on its input."""

from __future__ import annotations

import getpass
import os
import re
import subprocess
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from cpsched.api.errors import CpschedError
from slurm_adapter.live.fields import (
    JOB_FIELDS,
    NODE_FIELDS,
    closed_nodes,
    details_of,
    format_of,
    job_of,
    records,
    reservations_of,
    separator,
)
from slurm_adapter.live.order import NotAllowedError, UnreachableError, UnreadableError
from slurm_adapter.live.snapshot import Lease, LiveJob, Snapshot, in_order

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from slurm_adapter.live.order import Order

#: Seconds to wait for a command's answer.
_PATIENCE = 30
_KEY = re.compile(r"[0-9]+(_[0-9]+)?")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
#: What reservations are called that are leases of partitions, and how long after a lease's end
#: they begin, seconds: twenty years.
_PREFIX, _AHEAD = "cpsched.", 7305 * 86400
_LEASE = re.compile(
    rf"(?m)^ReservationName={re.escape(_PREFIX)}(\S+) StartTime=([0-9]+) EndTime=([0-9]+) .*\n?"
)
_NOT_ALLOWED = re.compile(r"(?i)access/permission denied|requires? operator|access denied")
#: What sudo says, and our gate.
_NOT_PASSED_ON = re.compile(
    r"(?m)^sudo: (?!unable to resolve host)|^Sorry, user |^not an order of cpsched: "
)
_UNREACHABLE = re.compile(
    r"(?i)unable to contact slurm controller|connect failure|connection refused|timed out"
    r"|zero bytes were transmitted|slurmctld is in standby"
)
#: A comment that keeps a job back, whatever the mark.
_HOLD = re.compile(r"\S+:hold\b")
#: More jobs than fit into one command line.
_AT_ONCE = 500


class Scontrol:
    """
    Slurm's commands: queries to a live Slurm, and orders to it.

    Every method raises :class:`UnreachableError` if Slurm does not answer, queries
    :class:`UnreadableError` if its answer cannot be read, orders :class:`NotAllowedError` if Slurm
    does not permit them. Orders return why, for each job that Slurm refused.

    Parameters
    ----------
    environment
        Of the commands; ``SLURM_CONF`` says which Slurm. None: that of this process.
    through
        Words of the command that is given the orders in place of ``scontrol``; queries are not.
    """

    def __init__(
        self, environment: Mapping[str, str] | None = None, through: Sequence[str] = ()
    ) -> None:
        self._to = tuple(through) or ("scontrol",)
        times = {"SLURM_TIME_FORMAT": "%s", "SLURM_BITSTR_LEN": "0"}
        own = {key: value for key, value in os.environ.items() if not key.startswith("SQUEUE_")}
        self._environment = {**own, **(environment or {}), **times}
        #: What does not change while a job is in its state: excluded nodes, and what it holds.
        self._details: dict[tuple[str, str, int, int], dict[str, Any]] = {}

    def snapshot(self) -> Snapshot:
        """Return the queue and the nodes."""
        now = int(time.time())
        jobs = [job_of(row) for row in self._records("squeue", "-r", fields=JOB_FIELDS)]
        closed = closed_nodes(self._records("sinfo", fields=NODE_FIELDS))
        shown = self._reservations()
        reserved = reservations_of(_LEASE.sub("", shown))
        engines = frozenset(name for name, lease in _leases(shown).items() if lease.until > now)
        return Snapshot(now, in_order(self._detailed(jobs)), closed, reserved, engines)

    def _reservations(self) -> str:
        return self._run("scontrol", "-a", "-o", "show", "reservation")

    def ended(self, jobs: Iterable[str]) -> dict[str, LiveJob]:
        """Return the outcomes of jobs that have left the queue, if Slurm still remembers them."""
        wanted = [key for key in jobs if _KEY.fullmatch(key)]
        found: dict[str, LiveJob] = {}
        for first in range(0, len(wanted), _AT_ONCE):
            part = wanted[first : first + _AT_ONCE]
            chosen = ("-r", "-t", "all", "-j", ",".join(part))
            # If all jobs are unknown, it says that the first is invalid.
            rows = self._records("squeue", *chosen, fields=JOB_FIELDS, check=False)
            found |= {job.key: job for job in map(job_of, rows) if job.key in part}
        return found

    def accounts(self) -> dict[str, str]:
        """
        Return QOS, associations and shares, as sacctmgr and sshare print them.

        They are called ``qos``, ``assoc`` and ``sshare``; those that do not answer are left out:
        there may be no accounting.
        """
        cluster = self._parameter("ClusterName")
        own = f"cluster={cluster}" if cluster else ""
        asked = {
            "qos": ("sacctmgr", "-P", "show", "qos"),
            "assoc": ("sacctmgr", "-P", "show", "assoc", "tree", own),
            "sshare": ("sshare", "-l", "-a", "-P"),
        }
        found = {}
        for name, command in asked.items():
            try:
                text = self._run(*filter(None, command))
            except CpschedError:
                continue
            if "\n" in text.strip():
                found[name] = text
        return found

    def private_data(self) -> str:
        """Return what users may not see of each other (``PrivateData``); '' for nothing."""
        words = self._parameter("PrivateData")
        return "" if words.lower() in ("", "none", "(null)") else words

    def _parameter(self, name: str) -> str:
        """Return a parameter of slurm.conf, '' where the controller shows none."""
        shown = self._run("scontrol", "show", "config")
        found = re.search(rf"(?m)^{name}\s*=\s*(\S+)", shown)
        return found[1] if found else ""

    def expected_starts(self) -> dict[str, int]:
        """Return when Slurm expects waiting jobs to start, Unix seconds; only those with a time."""
        rows = self._records("squeue", "-r", "-t", "PD", fields=("JobArrayID", "StartTime"))
        return {
            row["JobArrayID"]: int(row["StartTime"]) for row in rows if row["StartTime"].isdigit()
        }

    def configuration(self) -> dict[str, str]:
        """Return the output of ``scontrol show config``, ``node`` and ``partition``."""
        words = ("config", "node", "partition")
        return {word: self._run("scontrol", "-a", "show", word) for word in words}

    def booted(self) -> int:
        """Return when the controller started, Unix seconds."""
        found = re.search(r"(?m)^BOOT_TIME\s*=\s*([0-9]+)", self._run("scontrol", "show", "config"))
        if found is None:
            raise UnreadableError("scontrol show config has no BOOT_TIME")
        return int(found[1])

    def begin(self, orders: Sequence[Order]) -> dict[str, str]:
        """Bind jobs to nodes and release them; a job that cannot be bound stays held."""
        bound = {one.job: _update(one, one.nodes, len(one.nodes), len(one.nodes)) for one in orders}
        # A job released without being bound would start on any nodes.
        refused = self._each(bound)
        # A release would override the hold of an operator that is newer than the decision.
        kept = self._kept_back([job for job in bound if job not in refused])
        for order in (one for one in orders if one.job in kept):
            refused[order.job] = self._order(_own(order)) or kept[order.job]
        return refused | self._each({job: f"release {job}" for job in bound if job not in refused})

    def _kept_back(self, jobs: Sequence[str]) -> dict[str, str]:
        """Return which jobs people hold now, and why."""
        found = {}
        for first in range(0, len(jobs), _AT_ONCE):
            chosen = ("-r", "-t", "PD", "-j", ",".join(map(_key, jobs[first : first + _AT_ONCE])))
            fields = ("JobArrayID", "Reason", "Comment")
            for row in self._records("squeue", *chosen, fields=fields, check=False):
                if row["Reason"] == "JobHeldAdmin" or _HOLD.match(row["Comment"]):
                    found[row["JobArrayID"]] = "it has just been held"
        return {job: found[job] for job in jobs if job in found}

    def take_back(
        self, orders: Sequence[Order], held: Collection[str] = frozenset()
    ) -> dict[str, str]:
        """
        Hold jobs, with the nodes and bounds of their own requests.

        They are held as by their users, so that a hold by an operator is never our own; those that
        are ``held`` already stay as they are.
        """
        return self._each(
            {
                one.job: ("" if one.job in held else f"uhold {_key(one.job)}\n") + _own(one)
                for one in orders
            }
        )

    def leave(self, orders: Sequence[Order], jobs: Iterable[str]) -> dict[str, str]:
        """Leave jobs to Slurm: give ordered ones their own requests again, release ``jobs``."""
        refused = self._each({one.job: _own(one) for one in orders})
        return refused | self._each({job: f"release {_key(job)}" for job in jobs})

    def partitions(self) -> list[str]:
        """Return the partitions that have nodes."""
        rows = map(str.split, self._run("sinfo", "-h", "-a", "-o", "%R %D").splitlines())
        return sorted({name for name, nodes in rows if nodes != "0"})

    def leases(self) -> dict[str, Lease]:
        """Return the leases of partitions, by partition."""
        return _leases(self._reservations())

    def begin_lease(self, partition: str, lease: Lease) -> str:
        """Take the lease of a partition; return why Slurm refuses it, or ''."""
        # Of maintenance, because it can then be made while the nodes are drained or down.
        flags = "Flags=MAINT,IGNORE_JOBS,OVERLAP"
        where = (f"PartitionName={_name(partition)}", "NodeCnt=1", flags)
        return self._tell(
            *("create", "reservation", *_when(partition, lease)),
            *(f"Users={getpass.getuser()}", *where),
        )

    def renew_lease(self, partition: str, lease: Lease) -> str:
        """Renew the lease of a partition; return why Slurm refuses it, or ''."""
        return self._tell("update", *_when(partition, lease))

    def end_lease(self, partition: str) -> str:
        """End the lease of a partition; return why Slurm refuses it, or ''."""
        return self._tell("delete", f"ReservationName={_PREFIX}{_name(partition)}")

    def comment(self, job: str, text: str, *, admin: bool = False) -> str:
        """Give a job a comment, or an AdminComment; return why Slurm refuses it, or ''."""
        name = "AdminComment" if admin else "Comment"
        return self._tell("update", f"JobId={_key(job)}", f"{name}={text}")

    def _tell(self, *words: str) -> str:
        """Give one order; return why Slurm refuses it, or ''."""
        done = self._process((*self._to, *words))
        self._check_reached(done.stderr)
        if done.returncode:
            self._check_passed_on(done.stderr)
        return " ".join(done.stderr.split()) if done.returncode else ""

    def _each(self, commands: Mapping[str, str]) -> dict[str, str]:
        """Send commands to one scontrol; after complaints half by half, to find the jobs."""
        complaint = self._order("\n".join(commands.values())) if commands else ""
        if not complaint:
            return {}
        if len(commands) == 1:
            return dict.fromkeys(commands, complaint)
        every = list(commands.items())
        middle = len(every) // 2
        return self._each(dict(every[:middle])) | self._each(dict(every[middle:]))

    def _order(self, commands: str) -> str:
        """Send commands to scontrol; return its complaints."""
        done = self._process(self._to, given=f"{commands}\nquit\n")
        # Warnings come with success.
        complaint = " ".join(done.stderr.split()) if done.returncode else ""
        self._check_passed_on(complaint)
        if _NOT_ALLOWED.search(complaint):
            raise NotAllowedError(f"Slurm refuses orders: {complaint}")
        self._check_reached(complaint)
        return complaint

    def _detailed(self, jobs: list[LiveJob]) -> list[LiveJob]:
        """Return jobs with what squeue does not show; queried once while nothing changes."""
        about = {job.key: (job.key, job.state, job.start, job.cpus) for job in jobs}
        lines = self._show([job for job in jobs if about[job.key] not in self._details])
        self._details = {
            at: self._details.get(at) or details_of(lines.get(job.key, ""), job)
            for job, at in zip(jobs, about.values(), strict=True)
        }
        return [replace(job, **self._details[about[job.key]]) for job in jobs]

    def _show(self, jobs: list[LiveJob]) -> dict[str, str]:
        """Return the line of ``scontrol -d -o show job`` of each job, where there is one."""
        # Tasks of an array that have not been split off share one record.
        numbers = dict.fromkeys(job.number for job in jobs)
        if not numbers:
            return {}
        # scontrol echoes each unknown command, here an unpredictable mark, and continues.
        mark = separator()
        commands = "".join(f"{mark}{number}\nshow job {number}\n" for number in numbers)
        text = self._process(("scontrol", "-d", "-o"), given=f"{commands}quit\n").stdout
        parts = text.split(mark)[1:]
        lines = {line[0]: line[2] for line in (part.partition("\n") for part in parts)}
        return {job.key: lines[key] for job in jobs if (key := str(job.number)) in lines}

    def _records(
        self, *command: str, fields: tuple[str, ...], check: bool = True
    ) -> Iterator[dict[str, str]]:
        """Yield what ``squeue`` or ``sinfo`` shows."""
        mark = separator()
        text = self._run(*command, "-h", "-a", "-O", format_of(fields, mark), check=check)
        return records(text, fields, mark)

    def _run(self, *command: str, check: bool = True) -> str:
        done = self._process(command)
        if check and done.returncode:
            complaint = " ".join((done.stderr or done.stdout).split())
            self._check_reached(complaint)
            raise UnreadableError(f"{command[0]}: {complaint}")
        self._check_reached(done.stderr)
        return done.stdout

    def _process(
        self, command: Sequence[str], *, given: str = ""
    ) -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run(  # noqa: S603 - a list of arguments, without a shell
                command,
                env=self._environment,
                input=given,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_PATIENCE,
                check=False,
                # Ctrl-C is for this process alone: the command would fail as if Slurm had.
                process_group=0,
            )
        except FileNotFoundError:
            raise UnreachableError(f"there is no command {command[0]} here") from None
        except subprocess.TimeoutExpired:
            raise UnreachableError(f"{command[0]} does not answer within {_PATIENCE} s") from None

    def _check_passed_on(self, complaint: str) -> None:
        if self._to != ("scontrol",) and _NOT_PASSED_ON.search(complaint):
            text = " ".join(complaint.split())
            raise NotAllowedError(f"{self._to[0]} does not pass an order on: {text}")

    def _check_reached(self, complaint: str) -> None:
        if _UNREACHABLE.search(complaint):
            raise UnreachableError(f"Slurm does not answer: {' '.join(complaint.split())}")


def _leases(shown: str) -> dict[str, Lease]:
    """Return the leases among reservations, by partition."""
    return {
        name: Lease(int(start) - _AHEAD, (int(end) - int(start)) // 60)
        for name, start, end in _LEASE.findall(shown)
    }


def _when(partition: str, lease: Lease) -> tuple[str, str, str]:
    """Return the words that say whose lease ends when."""
    start = f"StartTime=uts{lease.until + _AHEAD}"
    return f"ReservationName={_PREFIX}{_name(partition)}", start, f"Duration={lease.token}"


def _key(text: str) -> str:
    """Return a job's key; nothing else is accepted in a command."""
    if not _KEY.fullmatch(text):
        raise UnreadableError(f"{text!r} is not a job number")
    return text


def _update(order: Order, required: Sequence[str], least: int, most: int) -> str:
    """Return the command that gives a job the nodes and bounds of a request."""
    job = _key(order.job)
    return f"update JobId={job} ReqNodeList={_names(required)} NumNodes={least}-{most}"


def _own(order: Order) -> str:
    """Return the command that gives a job its own request again."""
    return _update(order, order.required, order.nodes_min, order.nodes_max)


def _names(nodes: Sequence[str]) -> str:
    """Return names of nodes; nothing else goes into a command."""
    return ",".join(map(_name, nodes))


def _name(text: str) -> str:
    """Return the name of a node or partition; nothing else goes into a command."""
    if not _NAME.fullmatch(text):
        raise UnreadableError(f"{text!r} is not a name of a node or partition")
    return text
