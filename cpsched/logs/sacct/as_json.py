"""
``sacct --json`` as rows with the columns of ``sacct --parsable2``.

The shape of the data differs from release to release: a number may be ``5`` or
``{"set": true, "infinite": false, "number": 5}``, a state a word or a list; times are unix seconds,
and 0 is unknown. The text takes ten times as much space as that of ``--parsable2``.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from cpsched.errors import TraceError
from cpsched.logs.text import MAX_RATIO, SMALL_UNPACKED, FilePosition, opened

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from cpsched.logs.rejects import RejectedRows

_START = re.compile(rb'\s*\{.*"(?:jobs|meta)"\s*:', re.DOTALL)
_BITS = re.compile(r"0x[0-9A-Fa-f]{1,10000}")
_LIST = re.compile(r'"jobs"\s*:\s*\[')
_NEXT = re.compile(r"[\s,]*([\]{])")
#: NO_VAL and INFINITE of Slurm, in 32 and 64 bits: not said.
_NO_VALUES = (2**32 - 2, 2**32 - 1, 2**64 - 2, 2**64 - 1)
#: Keys of a job that the columns below are made of, or that change nothing.
_KEYS = frozenset(
    (
        *("job_id", "name", "user", "account", "association", "partition", "qos", "state", "time"),
        *("tres", "constraints", "reservation", "licenses", "submit_line", "array", "het"),
        *("cluster", "allocation_nodes", "required", "steps", "nodes", "group", "script"),
        *("exit_code", "derived_exit_code", "kill_request_user", "flags", "hold", "used_gres"),
        *("stdin_expanded", "stdout_expanded", "stderr_expanded", "working_directory"),
    )
)
#: Keys that the text calls otherwise.
_KEYS_OF_COLUMNS = {
    "mcs": "mcslabel",
    "restart_cnt": "restarts",
    "qosreq": "qosreq",
    "segment_size": "segmentsize",
    "failed_node": "failednode",
}
#: Bytes of a file, unpacked; it is read at once.
_MOST = 2**31


class SacctRow(NamedTuple):
    """
    A job or a step as sacct has it.

    Attributes
    ----------
    values
        Its columns by name in lower case, as ``sacct --parsable2`` prints them.
    position
        Where it is.
    text, number
        The row as it is in the file, and in JSON which of the jobs it is, counted from 1.
    """

    values: dict[str, str]
    position: FilePosition
    text: str = ""
    number: int = 0

    @property
    def job_id(self) -> str:
        """The id, with the step's name for a step."""
        return self.values.get("jobid") or self.values.get("jobidraw", "")

    @property
    def is_step(self) -> bool:
        """Whether the line is a step of a job."""
        return "." in self.job_id and "..." not in self.job_id


def is_json(start: bytes) -> bool:
    """Tell whether a file begins as sacct's JSON does."""
    return bool(_START.match(start[:4096]))


def json_rows(path: Path, rejected: RejectedRows) -> Iterator[SacctRow]:
    """
    Yield the jobs of a file as rows, one by one: all at once would take ten times the space.

    Raises
    ------
    TraceError
        If it is JSON that cannot be read, or not that of sacct.
    """
    text = _text_of(path)
    begin = _LIST.search(text)
    if begin is None:
        raise TraceError("has no list of jobs. Give the output of sacct --json.", file=path)
    at, number, decoder = begin.end(), 0, json.JSONDecoder()
    while (match := _NEXT.match(text, at)) and match[1] != "]":
        position = FilePosition(path, item=f"jobs[{number}]")
        try:
            job, at = decoder.raw_decode(text, match.start(1))
        except (ValueError, RecursionError) as error:
            raise position.error(f"is not JSON ({error})") from error
        number += 1
        own = text[match.start(1) : at]
        if isinstance(job.get("time"), dict):
            yield SacctRow(_values(job), position, own, number)
        else:
            why = "has no times, like the jobs of squeue --json. Use sacct --json."
            rejected.add(position.error(why), own, number)
    if match is None:
        raise TraceError(f"is not JSON: it ends or breaks after {number} jobs", file=path)


def _text_of(path: Path) -> str:
    limit = min(_MOST, max(SMALL_UNPACKED, MAX_RATIO * path.stat().st_size))
    text = bytearray()
    with opened(path) as file:
        # In parts: a read of so many bytes would take them from the memory before there are any.
        while part := file.read(2**20):
            text += part
            if len(text) > limit:
                raise TraceError(
                    f"is more than {limit} bytes of JSON. Use sacct --parsable2.", file=path
                )
    return text.decode("utf-8", "replace")


def _values(job: Mapping[str, Any]) -> dict[str, str]:
    """Return one job as columns."""
    time, tres, state = (_part(job, name) for name in ("time", "tres", "state"))
    current = state.get("current", job.get("state"))
    while isinstance(current, list) and current and isinstance(current[0], list):
        current = current[0]
    flags = map(_text, current) if isinstance(current, list) else [_text(current)]
    line = {
        "jobid": _job_id(job),
        "jobidraw": _text(job.get("job_id")),
        "jobname": _text(job.get("name")),
        "user": _text(job.get("user")) or _text(_part(job, "association").get("user")),
        "account": _text(job.get("account")) or _text(_part(job, "association").get("account")),
        "partition": _text(job.get("partition")),
        "qos": _text(job.get("qos")),
        "cluster": _text(job.get("cluster")),
        "state": ",".join(filter(None, flags)),
        "submit": _second(time, "submission"),
        "eligible": _second(time, "eligible"),
        "start": _second(time, "start"),
        "end": _second(time, "end"),
        "elapsedraw": _text(time.get("elapsed")),
        "suspended": _text(_part(time, "suspended").get("seconds", time.get("suspended"))),
        "timelimitraw": _limit(time),
        "reqtres": _tres(tres.get("requested")),
        "alloctres": _tres(tres.get("allocated")),
        "constraints": _text(job.get("constraints")),
        "reservation": _text(_part(job, "reservation").get("name")),
        "licenses": _text(job.get("licenses")),
        "submitline": _text(job.get("submit_line")),
    }
    limit = _part(_part(_part(_part(job, "array"), "limits"), "max"), "running").get("tasks")
    if _text(limit) not in ("", "0"):
        line["arraytasklimit"] = _text(limit)
    for key, value in job.items():
        if key not in _KEYS and (name := _KEYS_OF_COLUMNS.get(key, key)) and not _is_empty(value):
            line[name] = _text(value) or "set"
    return line


def _is_empty(value: object) -> bool:
    """Tell whether a value, or all that is in it, is none."""
    if isinstance(value, dict):
        return value.get("set") is False or all(map(_is_empty, value.values()))
    if isinstance(value, list):
        return all(map(_is_empty, value))
    return value in (None, "", 0, False)


def _limit(time: Mapping[str, Any]) -> str:
    """Return a limit in minutes; without one of its own the job has the partition's."""
    text = _text(time.get("limit"))
    return "Partition_Limit" if text.isdigit() and int(text) in _NO_VALUES else text


def _job_id(job: Mapping[str, Any]) -> str:
    """Return the id as sacct prints it: ``12``, ``12_3``, ``12_[4-9]``, ``12+1``."""
    array, het = _part(job, "array"), _part(job, "het")
    parent = _text(array.get("job_id"))
    if parent not in ("", "0"):
        if array.get("task"):
            return f"{parent}_[{_tasks(str(array['task']))}]"
        task = _text(array.get("task_id"))
        if task:
            return f"{parent}_{task}"
    parent = _text(het.get("job_id"))
    if parent not in ("", "0"):
        return f"{parent}+{_text(het.get('job_offset')) or 0}"
    return _text(job.get("job_id"))


def _tasks(text: str) -> str:
    """Return tasks as a list; 22.05 has them as bits (``0x3E`` is 1 to 5)."""
    if not _BITS.fullmatch(text):
        return text
    bits = int(text, 16)
    return ",".join(str(task) for task in range(bits.bit_length()) if bits >> task & 1)


def _part(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = data.get(name)
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    """Return a word or a number; '' for what is not set, UNLIMITED for what is infinite."""
    if isinstance(value, dict):
        if value.get("infinite"):
            return "UNLIMITED"
        return _text(value.get("number")) if value.get("set", True) else ""
    return "" if value is None or isinstance(value, list | bool) else str(value)


def _second(time: Mapping[str, Any], name: str) -> str:
    """Return unix seconds; 0 is unknown."""
    text = _text(time.get(name))
    unknown = text in ("", "0", "UNLIMITED") or (text.isdigit() and int(text) in _NO_VALUES)
    return "Unknown" if unknown else text


def _tres(items: object) -> str:
    """Return ``cpu=4,mem=1000M,gres/gpu:v100=2``."""
    items_of_text = []
    for item in items if isinstance(items, list) else ():
        count = _text(item.get("count")) if isinstance(item, dict) else ""
        if count and item.get("type") != "energy":
            name = _text(item.get("type")) + (f"/{item['name']}" if item.get("name") else "")
            items_of_text.append(f"{name}={count}" + ("M" if name == "mem" else ""))
    return ",".join(items_of_text)
