"""
The request of a batch script: its ``#SBATCH`` lines, read like ``sacct`` output.

Options are read as those of commands in a log (:mod:`cpsched.logs.sacct.options`). What of them is
not modelled, or cannot be told from a script alone, is in the notes of the workload's header.
``sbatch`` reads up to the first command of the script, and of an option that is given twice the
last one counts.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from cpsched.errors import TraceError, unreadable
from cpsched.logs.collect import JobCollector
from cpsched.logs.rejects import RejectedRows
from cpsched.logs.sacct.as_json import SacctRow
from cpsched.logs.sacct.job import job_of
from cpsched.logs.sacct.options import not_modelled, options_in, set_option
from cpsched.logs.sacct.request import ResourceRequests
from cpsched.logs.text import FilePosition
from cpsched.util.quantities import integer
from cpsched.util.slurm_quantities import ENDLESS, moment, whole_minutes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from cpsched.model.workload import Workload

_MARK = "#SBATCH"
#: Columns of sacct, and the options that say the same.
_COLUMNS = {
    "partition": "partition",
    "account": "account",
    "qos": "qos",
    "reservation": "reservation",
    "jobname": "job-name",
    "constraints": "constraint",
}
#: Options that a log explains by other columns and a script does not, and what is done instead.
_UNTOLD = {
    "array": "one task",
    "cpus-per-gpu": "the cores of --cpus-per-task",
    "dependency": "waits for no job",
    "gpus-per-socket": "no GPUs",
    "gpus-per-task": "no GPUs",
    "hold": "submitted without it",
    "mem-per-gpu": "no memory",
    "ntasks-per-gpu": "the tasks of --ntasks",
    "ntasks-per-tres": "the tasks of --ntasks",
    "overcommit": "a core for each task",
    "tres-per-task": "the cores of --cpus-per-task",
}
#: Words of a script that begin a further component of a heterogeneous job.
_HETEROGENEOUS = "heterogeneous"
_COMPONENTS = frozenset(("hetjob", "packjob"))


def read(path: Path, *, submit: int, user: str = "", job_id: str = "new") -> Workload:
    """
    Return a batch script as a workload of one job, which has not run.

    Parameters
    ----------
    submit
        Unix time of its submit.

    Raises
    ------
    TraceError
        If the file cannot be read or is no script, or a value cannot be read.
    """
    options = _options(path)
    position = FilePosition(path, None)
    values = {
        "jobid": job_id,
        "user": user,
        "submit": str(submit),
        # As of a job that is over at once: what it asks for does not depend on it.
        "state": "COMPLETED",
        "start": str(submit),
        "elapsedraw": "0",
        **{column: options[name] for column, name in _COLUMNS.items() if name in options},
    }
    nodes = _number(options, "nodes", position)
    tasks = _number(options, "ntasks", position)
    if tasks is None:
        tasks = (nodes or 1) * (_number(options, "ntasks-per-node", position) or 1)
    values["reqcpus"] = str(tasks * (_number(options, "cpus-per-task", position) or 1))
    if nodes is not None:
        values["reqnodes"] = str(nodes)
    if "time" in options:
        seconds = position.parse(whole_minutes, "--time", options["time"])
        values["timelimitraw"] = "UNLIMITED" if seconds == ENDLESS else str(seconds // 60)
    if "begin" in options:
        begin = position.parse(lambda text: moment(text, submit), "--begin", options["begin"])
        values["eligible"] = str(max(begin, submit))
    for name, each in (("mem", "n"), ("mem-per-cpu", "c")):
        if name in options:
            values["reqmem"] = f"{options[name]}{'' if options[name][-1:].isalpha() else 'M'}{each}"
    words = (f"--{name}={value}" if value else f"--{name}" for name, value in options.items())
    values["submitline"] = " ".join(["sbatch", *("_".join(word.split()) for word in words)])
    jobs = JobCollector(path, RejectedRows())
    jobs.add(job_of(SacctRow(values, position), ResourceRequests()).job, position)
    return jobs.workload([("Note", text) for text in _notes(options)])


def _notes(options: Mapping[str, str]) -> Iterator[str]:
    """Yield what of the options of a script is not modelled, and what is done instead."""
    if _HETEROGENEOUS in options:
        yield "not modelled: components of a heterogeneous job (the first one alone)"
    for name, value in options.items():
        if name in _UNTOLD:
            yield f"not modelled: --{name} ({_UNTOLD[name]})"
        elif name != _HETEROGENEOUS and (gap := not_modelled(name, value)):
            yield f"not modelled: {gap[0]} ({gap[1]})"


def _options(path: Path) -> Mapping[str, str]:
    """Return the options of a script by their long names."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise TraceError(unreadable(error), file=path) from None
    if not lines or not lines[0].startswith("#!"):
        raise TraceError("must begin with #! and an interpreter, as sbatch requires", file=path)
    options: dict[str, str] = {}
    for number, line in _before_commands(lines):
        words = _words(line, number, path)
        if words and words[0] in _COMPONENTS:
            return {**options, _HETEROGENEOUS: ""}
        for name, value in options_in(["sbatch", *words]).items():
            set_option(options, name, value)
    return options


def _words(line: str, number: int, path: Path) -> list[str]:
    """Return the words of a line that is for sbatch, without its comment."""
    if not line.startswith(_MARK):
        return []
    try:
        return shlex.split(line[len(_MARK) :], comments=True)
    except ValueError as error:
        raise TraceError(f"{error}", file=path, line=number, value=line) from None


def _before_commands(lines: list[str]) -> Iterator[tuple[int, str]]:
    """Return the lines that sbatch reads, with their numbers."""
    for number, line in enumerate(lines, 1):
        if line.strip() and not line.startswith("#"):
            return
        yield number, line


def _number(options: Mapping[str, str], name: str, position: FilePosition) -> int | None:
    """Return an option that is a number; of a range of nodes, the least."""
    if name not in options:
        return None
    number = position.parse(integer, f"--{name}", options[name].partition("-")[0])
    if number < 1:
        raise position.error("must be at least 1", f"--{name}", options[name])
    return number
