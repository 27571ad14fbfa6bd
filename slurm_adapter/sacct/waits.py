"""
What a Slurm job waited for apart from its turn: a time, another job, its array's limit.

Slurm keeps the second from which a job could have started (``Eligible``) in the log: its begin
time, or when what it depended on had ended, or when its array had room for one more task. Where the
log says which job or which limit that was, the workload has the dependency or limit itself, so that
they hold in another schedule, too; only else ``Eligible`` is the job's ``begin``.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from cpsched.api.fields import instant
from cpsched.api.model import MISSING, DependencyType, Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.api.logs import Jobs
    from cpsched.api.model import IntArray

_TYPES = {
    "afterany": DependencyType.AFTERANY,
    "afterok": DependencyType.AFTEROK,
    "afternotok": DependencyType.AFTERNOTOK,
    "after": DependencyType.AFTER,
    "aftercorr": DependencyType.AFTEROK,
}
_TARGET = re.compile(r"([0-9]+)(?:_([0-9]+|\*)|\+[0-9]+)?")
_FROM_NOW = re.compile(r"now(?:\+([0-9]+)([a-z]*))?")
_SECONDS = {"": 1, "second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800}
_OK = frozenset((Status.COMPLETED, Status.UNKNOWN))

#: What a job waits for: types and ids of other jobs.
Targets: TypeAlias = "tuple[tuple[DependencyType, str], ...]"


class _Waiting(NamedTuple):
    """A job that waited for others: its row, their types and ids, and when it was eligible."""

    row: int
    targets: Targets
    eligible: int


@dataclass(slots=True)
class Waits:
    """The jobs of a log that waited for other jobs; those are looked up when all have been read."""

    unknown: int = 0
    _attempts: list[tuple[int, int]] = field(default_factory=list)
    _waiting: list[_Waiting] = field(default_factory=list)
    _members: defaultdict[str, list[int]] = field(default_factory=lambda: defaultdict(list))

    def note(self, row: int, job_id: str) -> None:
        """Take a job also under its id without attempt, and without task or component."""
        base = job_id.partition("#")[0]
        whole = base.partition("_")[0].partition("+")[0]
        for name in {base, whole} - {job_id}:
            self._members[name].append(row)

    def add(self, row: int, targets: Targets, eligible: int) -> None:
        """Take a job that waits for others."""
        self._waiting.append(_Waiting(row, targets, eligible))

    def follow(self, row: int, before: int) -> None:
        """Take a further attempt of a job: it waits for the end of the one before."""
        self._attempts.append((row, before))

    def columns(self, jobs: Jobs) -> Mapping[str, IntArray]:
        """
        Return ``dependency`` and ``dependency_type``, in the order in which jobs were added.

        Of several jobs that one waited for, it is the one that ended last. Where none of them is in
        the log, or the job ran although it should not have, the job begins when it was eligible.
        """
        dependency = np.full(len(jobs), -1, dtype=np.int64)
        kind = np.full(len(jobs), int(DependencyType.AFTERANY), dtype=np.int64)
        for row, targets, eligible in self._waiting:
            last = max(
                (
                    (_end(jobs, other), other, wanted)
                    for wanted, target in targets
                    for other in self._rows(jobs, target)
                ),
                default=None,
            )
            if last is None or not _holds(jobs, row, last[1], last[2]):
                self.unknown += 1
                jobs.set_value("begin", row, eligible)
            else:
                dependency[row], kind[row] = last[1], last[2]
        for row, before in self._attempts:
            if _holds(jobs, row, before, DependencyType.AFTERANY):
                dependency[row] = before
        return {"dependency": dependency, "dependency_type": kind}

    def _rows(self, jobs: Jobs, target: str) -> list[int]:
        own = jobs.row_of(target)
        return [*([] if own is None else [own]), *self._members.get(target, ())]


def begin_of(text: str, submit: int) -> int:
    """Return the unix second of ``--begin``, ``MISSING`` if it is not later or not readable."""
    match = _FROM_NOW.fullmatch(text)
    if match:
        unit = match[2] or ""
        seconds = _SECONDS.get(unit if unit in _SECONDS else unit.removesuffix("s"))
        begin = MISSING if seconds is None else submit + seconds * int(match[1] or 0)
    else:
        try:
            begin = instant(text if "T" in text else f"{text}T00:00:00")[0]
        except ValueError:
            return MISSING
    return begin if begin > submit else MISSING


def targets_of(text: str, job_id: str) -> Targets:
    """Return what ``--dependency`` waits for; nothing if it cannot be said by jobs that all end."""
    if not text:
        return ()
    found = []
    own = int(job_id.partition("_")[0].partition("+")[0].partition("#")[0])
    task = job_id.partition("_")[2]
    for clause in text.split(","):
        name, *ids = clause.split(":")
        for target in ids:
            match = _TARGET.fullmatch(target)
            # after:7+5 waits for 5 more minutes. Jobs wait for earlier ones alone.
            if name not in _TYPES or not match or (name == "after" and "+" in target):
                return ()
            if int(match[1]) >= own:
                return ()
            name_of = match[1] if match[2] in (None, "*") else f"{match[1]}_{match[2]}"
            if name == "aftercorr" and task:
                name_of = f"{match[1]}_{task}"
            found.append((_TYPES[name], name_of))
        if not ids:
            return ()
    return tuple(found)


def _end(jobs: Jobs, row: int) -> int:
    start = jobs.value("start", row)
    return jobs.value("cancel", row) if start == MISSING else start + jobs.value("runtime", row)


def _holds(jobs: Jobs, row: int, other: int, kind: DependencyType) -> bool:
    """Tell whether a job can have waited so: if it started, what it waited for had happened."""
    start = jobs.value("start", row)
    if start == MISSING:
        return True
    good = jobs.value("status", other) in _OK
    if kind == DependencyType.AFTER:
        begun = jobs.value("start", other)
        return (_end(jobs, other) if begun == MISSING else begun) <= start
    wrong = {DependencyType.AFTEROK: not good, DependencyType.AFTERNOTOK: good}
    return _end(jobs, other) <= start and not wrong.get(kind, False)
