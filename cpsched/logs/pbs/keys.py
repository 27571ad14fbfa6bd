"""
Keys of accounting records that are not read: those that say nothing of scheduling, and all others.

The first are listed here with why. Every other key is not modelled; :class:`KeyCounts` counts the
jobs that have it, and the log's notes name it.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

RESOURCES = "Resource_List."

#: Keys that a job is made of; ``Resource_List`` has its own in :mod:`cpsched.logs.pbs.request`.
READ = frozenset(
    (
        *("ctime", "qtime", "etime", "start", "end", "resources_used.walltime", "Exit_status"),
        *("user", "group", "queue", "jobname", "run_count", "run_version"),
        *("exec_host", "exec_vnode", "exec_gpus"),
    )
)
#: Keys that say nothing of when a job may start, what it takes or how long, and why.
IRRELEVANT: Mapping[str, str] = {
    "session": "a number of the processes",
    "alt_id": "a number of the processes",
    "owner": "the user with the host of the submission",
    "requestor": "user who asked for it",
    "accounting_id": "a number for other accounting",
    "gridname": "the user's name in a grid",
    "array_id": "the id of the job's array, which its own id says",
    "array_index": "the number in the array, which its own id says",
    "array_indices": "the subjobs, which have records of their own",
    "unique_node_count": "the number of hosts in exec_host",
    "total_execution_slots": "the number of cores in exec_host",
    "eligible_time": "how long the job waited without a hold, which its times say",
}
#: The same for all keys that begin so.
_IRRELEVANT: Mapping[str, str] = {
    "resources_used.": "what was measured, not what was asked for",
    "resource_assigned.": "the sums of exec_vnode",
}
#: The value of a key that says nothing.
_USUAL = {"project": "_pbs_project_default", "account": ""}
#: Keys of parts are one key: ``req_information.lprocs.0``, ``.1``.
_PART = re.compile(r"(?:\.[0-9]+)+$")


def unread_of(record: Mapping[str, str]) -> Iterator[str]:
    """Yield the keys of a record that are not modelled, but for those of its ``Resource_List``."""
    for key, value in record.items():
        known = key in READ or key in IRRELEVANT or key.startswith(RESOURCES)
        if known or _USUAL.get(key) == value or key.startswith(tuple(_IRRELEVANT)):
            continue
        yield _PART.sub("", key)


@dataclass(slots=True)
class KeyCounts:
    """How many jobs have what, to be said in the log's notes."""

    jobs: int = 0
    unread: Counter[str] = field(default_factory=Counter)
    notes: Counter[str] = field(default_factory=Counter)

    def add(self, unread: Iterable[str], notes: Iterable[str]) -> None:
        """Count a job, its keys that are not modelled, and what else is to be said of it."""
        self.jobs += 1
        self.unread.update(set(unread))
        self.notes.update(set(notes))

    def texts(self) -> list[str]:
        """Return a line for each."""
        lines = [f"jobs that {what}: {self._share(n)}" for what, n in sorted(self.notes.items())]
        lines += [
            f"{key} is not modelled: {self._share(n)}" for key, n in sorted(self.unread.items())
        ]
        return lines

    def _share(self, number: int) -> str:
        return f"{number:,} of {self.jobs:,} jobs ({100 * number / max(self.jobs, 1):.1f} %)"
