"""
What a Slurm job waited for apart from its turn: a time, another job, its array's limit.

Slurm keeps the second from which a job could have started (``Eligible``) in the log: its begin
time, or when what it depended on had ended, or when its array had room for one more task. Where the
log says which job or which limit that was, the workload has the dependency or limit itself, so that
they hold in another schedule, too; only else ``Eligible`` is the job's ``begin``.

A job of ``singleton`` waits for the job of its user and name before it, so that two of them never
run together.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from cpsched.util.slurm_quantities import moment
from cpsched.util.types import MISSING, DependencyType, Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from cpsched.logs.collect import JobCollector
    from cpsched.util.types import IntArray

_TYPES = {
    "afterany": DependencyType.AFTERANY,
    "afterok": DependencyType.AFTEROK,
    "afternotok": DependencyType.AFTERNOTOK,
    "after": DependencyType.AFTER,
    "aftercorr": DependencyType.AFTEROK,
}
_SINGLETON = "singleton"
_TARGET = re.compile(r"([0-9]+)(?:_([0-9]+|\*)|\+[0-9]+)?")
#: Numbers alone, as older Slurms took them.
_NUMBERS = re.compile(r"[0-9]+(?:[,:][0-9]+)*")
_MINUTES = re.compile(r"\+(?!0+(?::|,|$))[0-9]")
_NOT_IN_LOG = "jobs that waited for jobs not in the log"
_CONTRADICTED = "jobs that started although their dependency was not met"
_NO_OWNER = "singleton jobs without a user or a name (their dependency is ignored)"
_OK = frozenset((Status.COMPLETED, Status.UNKNOWN))
#: An id as the workload has it: number, task, component, generation of the number, attempt.
_ID = re.compile(r"([0-9]+)(?:_([0-9]+)|\+([0-9]+))?(?:@([0-9]+))?(?:#([0-9]+))?")

#: What a job waits for: types and ids of other jobs.
Targets: TypeAlias = "tuple[tuple[DependencyType, str], ...]"


class RequestedDependency(NamedTuple):
    """
    What ``--dependency`` asks for.

    Attributes
    ----------
    targets
        Types and ids of the jobs that it names.
    singleton
        Whether the job waits for the jobs of its user and name before it.
    """

    targets: Targets = ()
    singleton: bool = False


class _Waiting(NamedTuple):
    """A job that waited for others: its row, what it asked for, and when it was eligible."""

    row: int
    wanted: RequestedDependency
    eligible: int


@dataclass(slots=True)
class Dependencies:
    """
    The jobs of a log that waited for other jobs; those are looked up when all have been read.

    Attributes
    ----------
    counts
        What the header says of them: how many jobs wait in ways that are known in part only.
    """

    counts: Counter[str] = field(default_factory=Counter)
    _attempts: list[tuple[int, int]] = field(default_factory=list)
    _waiting: list[_Waiting] = field(default_factory=list)
    _members: defaultdict[str, list[int]] = field(default_factory=lambda: defaultdict(list))

    def note(self, row: int, job_id: str) -> None:
        """Take a job also under its id without attempt, and without task or component."""
        base = job_id.partition("#")[0]
        name, at, generation = base.partition("@")
        array = name.partition("_")[0].partition("+")[0] + at + generation
        for other in {base, array} - {job_id}:
            self._members[other].append(row)

    def first_of(self, job_id: str) -> int | None:
        """Return the first task or component of an array or heterogeneous job, None if none."""
        rows = self._members.get(job_id)
        return rows[0] if rows else None

    def add(self, row: int, wanted: RequestedDependency, eligible: int) -> None:
        """Take a job that waits for others."""
        self._waiting.append(_Waiting(row, wanted, eligible))

    def follow(self, row: int, before: int) -> None:
        """Take a further attempt of a job: it waits for the end of the one before."""
        self._attempts.append((row, before))

    def columns(self, jobs: JobCollector) -> Mapping[str, IntArray]:
        """
        Return ``dependency`` and ``dependency_type``, in the order in which jobs were added.

        Of several jobs that one waited for, it is the one that ended last. Where none of them is in
        the log, or the job ran although it should not have, the job begins when it was eligible.
        """
        dependency = np.full(len(jobs), -1, dtype=np.int64)
        kind = np.full(len(jobs), int(DependencyType.AFTERANY), dtype=np.int64)
        before = _before(jobs, [job.row for job in self._waiting if job.wanted.singleton])
        for row, wanted, eligible in self._waiting:
            candidates = {
                (_end(jobs, other), other, type_)
                for type_, target in wanted.targets
                for other in self._rows(jobs, target, jobs.value("submit", row))
            }
            candidates |= {
                (_end(jobs, other), other, DependencyType.AFTERANY) for other in before.get(row, ())
            }
            if not candidates and not wanted.targets and row in before and eligible == MISSING:
                continue  # the first of its name
            last = max(candidates, default=None)
            if last is None or not _holds(jobs, row, last[1], last[2]):
                nobody = wanted.singleton and not wanted.targets and row not in before
                why = _NO_OWNER if nobody else _NOT_IN_LOG
                self.counts[why if last is None else _CONTRADICTED] += 1
                jobs.set_value("begin", row, eligible)
                continue
            dependency[row], kind[row] = last[1], last[2]
            if len({other for _, other, _ in candidates}) > 1:
                self.counts["jobs that wait for several others (here for the last to end)"] += 1
        for row, earlier in self._attempts:
            if _holds(jobs, row, earlier, DependencyType.AFTERANY):
                dependency[row] = earlier
        return {"dependency": dependency, "dependency_type": kind}

    def _rows(self, jobs: JobCollector, target: str, submit: int) -> Sequence[int]:
        """Return the rows of a number as it stood at a second, for numbers are used again."""
        fits: Sequence[int] = ()
        for name in generations(target):
            own = jobs.row_of(name)
            rows = [*([] if own is None else [own]), *self._members.get(name, ())]
            if not rows or (fits and min(jobs.value("submit", row) for row in rows) > submit):
                return fits
            fits = rows
        return fits


def generations(job_id: str) -> Iterator[str]:
    """Yield the ids of the jobs that have one number, one after the other: ``7``, ``7@2``."""
    number = 1
    while True:
        yield job_id if number == 1 else f"{job_id}@{number}"
        number += 1


def begin_of(text: str, submit: int) -> int:
    """Return the unix second of ``--begin``, ``MISSING`` if it is not later or not readable."""
    try:
        begin = moment(text, submit)
    except ValueError:
        return MISSING
    return begin if begin > submit else MISSING


def form_not_modelled(text: str) -> str:
    """
    Return the form of a dependency that no workload can hold, '' if it can.

    For example ``after:ID+MINUTES`` for ``after:7+5``, and ``?`` where one of several is enough.
    """
    text = text.lower()
    if "?" in text:
        return "?"
    if _NUMBERS.fullmatch(text):
        return ""
    for clause in text.split(","):
        name, _, ids = clause.partition(":")
        if name == "after" and _MINUTES.search(ids):
            return "after:ID+MINUTES"
        if name not in _TYPES and name != _SINGLETON:
            return name or "''"
    return ""


def requested_dependency(text: str, job_id: str) -> RequestedDependency | None:
    """Return what ``--dependency`` waits for; None if it cannot be said by jobs that all end."""
    if not text:
        return RequestedDependency()
    if form_not_modelled(text):
        return None
    if _NUMBERS.fullmatch(text):
        text = f"afterany:{text.replace(',', ':')}"
    match = _ID.match(job_id)
    own, task = int(match[1]) if match else 0, match[2] if match else None
    targets, singleton = [], False
    for clause in text.split(","):
        name, *ids = clause.split(":")
        name = name.lower()
        singleton = singleton or name == _SINGLETON
        for target in ids:
            named = _TARGET.fullmatch(target)
            # Jobs wait for earlier ones alone.
            if not named or int(named[1]) >= own:
                return None
            name_of = named[1] if named[2] in (None, "*") else f"{named[1]}_{named[2]}"
            if name == "aftercorr" and task:
                name_of = f"{named[1]}_{task}"
            targets.append((_TYPES[name], name_of))
        if not ids and name != _SINGLETON:
            return None
    return RequestedDependency(tuple(targets), singleton)


def _before(jobs: JobCollector, singles: Sequence[int]) -> dict[int, list[int]]:
    """
    Return the jobs of the same user and name that each job of ``singleton`` waits for.

    A chain of such jobs waits one for the other. What came before without ``singleton``, or left
    the queue without having run, does not stand for those before it, which are listed, too. Jobs
    whose user or name is not known are left out.
    """
    if not singles:
        return {}
    owners = np.stack([jobs.codes("user"), jobs.codes("name")], axis=1).tolist()
    wanted = {tuple(owners[row]) for row in singles if min(owners[row]) >= 0}
    groups: defaultdict[tuple[int, ...], list[int]] = defaultdict(list)
    for row, owner in enumerate(owners):
        if tuple(owner) in wanted:
            groups[tuple(owner)].append(row)
    before_of: dict[int, list[int]] = {}
    single = set(singles)
    for rows in groups.values():
        keys = _order(jobs, rows)
        rows.sort(key=keys.__getitem__)
        before: list[int] = []
        # Components of one heterogeneous job do not wait for each other.
        for _, together in groupby(rows, key=lambda row, keys=keys: keys[row][:4]):  # type: ignore[misc]
            these = list(together)
            waiting = [row for row in these if row in single]
            before_of |= {row: list(before) for row in waiting}
            if any(jobs.value("start", row) != MISSING for row in waiting):
                before = []
            before += these
    return before_of


def _order(jobs: JobCollector, rows: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """
    Return what sorts jobs as Slurm numbers them; the first four are equal for components of one.

    Those are the first submit, the number, the task, and which attempt it is.
    """
    ids = jobs.ids
    keys: dict[int, tuple[int, ...]] = {}
    for row in rows:
        match = _ID.fullmatch(ids[row])
        number, task, component, generation, attempt = (
            int(part or 0) for part in (match.groups() if match else (0,) * 5)
        )
        first = jobs.row_of(ids[row].partition("#")[0])
        submit = jobs.value("submit", row if first is None else first)
        keys[row] = (submit, number, task, attempt, component, generation)
    return keys


def _end(jobs: JobCollector, row: int) -> int:
    start = jobs.value("start", row)
    return jobs.value("cancel", row) if start == MISSING else start + jobs.value("runtime", row)


def _holds(jobs: JobCollector, row: int, other: int, kind: DependencyType) -> bool:
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
