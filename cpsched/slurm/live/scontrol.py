"""Slurm's own commands that read: ``squeue``, ``sinfo``, ``scontrol show``, ``sacct``, ..."""

from __future__ import annotations

import os
import re
import subprocess
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from cpsched.errors import CpschedError
from cpsched.slurm.live.fields import (
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
from cpsched.slurm.live.snapshot import (
    LiveJob,
    Snapshot,
    UnreachableError,
    UnreadableError,
    in_order,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

#: Seconds to wait for the answer of a command, and of ``sacct``, which reads a database.
_PATIENCE, _DATABASE_PATIENCE = 30, 300
_UNREACHABLE = re.compile(
    r"(?i)unable to contact slurm controller|connect failure|connection refused|timed out"
    r"|zero bytes were transmitted|slurmctld is in standby"
)
#: Columns of the jobs that have ended.
_SACCT = (
    "JobID,JobName,User,Account,QOS,Partition,Submit,Eligible,Start,End,ElapsedRaw,TimelimitRaw,"
    "State,ReqTRES,AllocTRES,ReqMem,NNodes,Constraints,SubmitLine"
)


class Scontrol:
    """
    Slurm's commands that read; nothing is changed.

    Every method raises :class:`UnreachableError` if Slurm does not answer and
    :class:`UnreadableError` if its answer cannot be read.

    Parameters
    ----------
    environment
        Of the commands; ``SLURM_CONF`` says which Slurm. None: that of this process.
    """

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        times = {"SLURM_TIME_FORMAT": "%s", "SLURM_BITSTR_LEN": "0"}
        own = {key: value for key, value in os.environ.items() if not key.startswith("SQUEUE_")}
        self._environment = {**own, **(environment or {}), **times}
        #: What does not change while a job is in its state: excluded nodes, and what it holds.
        self._details: dict[tuple[str, str, int, int], dict[str, Any]] = {}

    def snapshot(self) -> Snapshot:
        """Return the queue and the nodes."""
        now = int(time.time())
        jobs = self._detailed(self.jobs())
        closed = closed_nodes(self._records("sinfo", fields=NODE_FIELDS))
        reserved = reservations_of(self._run("scontrol", "-a", "-o", "show", "reservation"))
        return Snapshot(now, in_order(jobs), closed, reserved)

    def jobs(self, *options: str) -> list[LiveJob]:
        """Return the jobs that ``squeue`` shows with these options."""
        # If no job of a list is known, squeue fails.
        rows = self._records("squeue", "-r", *options, fields=JOB_FIELDS, check=not options)
        return [job_of(row) for row in rows]

    def accounts(self) -> dict[str, str]:
        """
        Return QOS, associations and shares, as sacctmgr and sshare print them.

        They are called ``qos``, ``assoc`` and ``sshare``; those that do not answer are left out:
        there may be no accounting.
        """
        shown = self._run("scontrol", "show", "config")
        cluster = re.search(r"(?m)^ClusterName\s*=\s*(\S+)", shown)
        asked = {
            "qos": ("sacctmgr", "-P", "show", "qos"),
            "assoc": (
                *("sacctmgr", "-P", "show", "assoc", "tree"),
                *((f"cluster={cluster[1]}",) if cluster else ()),
            ),
            "sshare": ("sshare", "-l", "-a", "-P"),
        }
        answers = {name: self._accounted(*command) for name, command in asked.items()}
        return {name: text for name, text in answers.items() if text}

    def history(self, days: int) -> str:
        """Return the output of ``sacct`` for the jobs of the last days; '' without accounting."""
        window = ("-S", f"now-{days}days", "-E", "now")
        command = ("sacct", "-a", "-X", "-P", *window, "-o", _SACCT)
        return self._accounted(*command, patience=_DATABASE_PATIENCE)

    def _accounted(self, *command: str, patience: int = _PATIENCE) -> str:
        """Return a table of the accounting database; '' if it does not answer or has no row."""
        try:
            text = self._run(*command, patience=patience)
        except CpschedError:
            return ""
        return text if "\n" in text.strip() else ""

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
        show, given = ("scontrol", "-d", "-o"), f"{commands}quit\n"
        done = run_command(show, self._environment, given=given, patience=_PATIENCE)
        parts = done.stdout.split(mark)[1:]
        lines = {line[0]: line[2] for line in (part.partition("\n") for part in parts)}
        return {job.key: lines[key] for job in jobs if (key := str(job.number)) in lines}

    def _records(
        self, *command: str, fields: tuple[str, ...], check: bool = True
    ) -> Iterator[dict[str, str]]:
        """Yield the records of ``squeue`` or ``sinfo``."""
        mark = separator()
        text = self._run(*command, "-h", "-a", "-O", format_of(fields, mark), check=check)
        return records(text, fields, mark)

    def _run(self, *command: str, check: bool = True, patience: int = _PATIENCE) -> str:
        done = run_command(command, self._environment, patience=patience)
        if check and done.returncode:
            complaint = " ".join((done.stderr or done.stdout).split())
            _check_reached(complaint)
            raise UnreadableError(f"{command[0]}: {complaint}")
        _check_reached(done.stderr)
        return done.stdout


def run_command(
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    given: str = "",
    patience: float | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run one of Slurm's commands, for so many seconds at most; ``given`` is its input."""
    try:
        return subprocess.run(  # noqa: S603 - a list of arguments, without a shell
            command,
            env=environment,
            input=given,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=patience,
            check=False,
            # Ctrl-C is for this process alone: the command would fail as if Slurm had.
            process_group=0,
        )
    except FileNotFoundError:
        raise UnreachableError(
            f"'{command[0]}' is missing in PATH. Run this command on a Slurm client host."
        ) from None
    except subprocess.TimeoutExpired:
        raise UnreachableError(
            f"{command[0]} gave no answer within {patience} s. Check that slurmctld answers."
        ) from None


def _check_reached(complaint: str) -> None:
    if _UNREACHABLE.search(complaint):
        raise UnreachableError(f"slurmctld does not answer: {' '.join(complaint.split())}")
