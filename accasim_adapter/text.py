"""
The lines of AccaSim's files, as it writes them with its default settings.

Times are dates in UTC. AccaSim writes the local time of its process, in which an hour is missing or
doubled when clocks change; with ``TZ=UTC`` both are the same.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# AccaSim's format pads the last column to 20, but its list of nodes cannot be padded.
_PRETTY = "{:>5} {:>15} {:^19} {:^19} {:>8} {:>8} {:>8} {:>5} {:>4} {:>10} {}\n"
_COLUMNS = (
    "n", "job_id", "start_time", "end_time", "wtime", "rtime", "slowdown", "nodes", "core", "mem",
    f"{'assigned_nodes':<20}",
)  # fmt: skip
#: The first line of a ``pprint-`` file.
PRETTY_HEADER = _PRETTY.format(*_COLUMNS)
#: Characters that AccaSim's own parser accepts as text.
_NO_TEXT = re.compile(r"[^0-9a-zA-Z_\-.@]")
#: What it writes for a job without memory.
UNKNOWN = "NA"


@lru_cache(maxsize=1 << 16)
def date(second: int) -> str:
    """Return a Unix time as AccaSim shows it."""
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%d %H:%M:%S")


def name(text: object) -> str:
    """Return a name with every mark that would end a field replaced by ``_``; -1 for none."""
    return "-1" if text is None or text == "" else _NO_TEXT.sub("_", str(text))


class JobLine(NamedTuple):
    """
    A job that ran and ended, as in AccaSim's files.

    Attributes
    ----------
    queued, start, end
        Unix seconds.
    nodes
        Number of a node (from 1) for each unit.
    units, cores, memory
        Units, and cores and memory of all of them.
    request, requested_time
        What a unit takes of each resource, and seconds.
    """

    job_id: object
    user: object
    queued: int
    start: int
    end: int
    nodes: Sequence[object]
    units: int
    cores: object
    memory: object
    request: Iterable[int]
    requested_time: int

    def schedule(self) -> str:
        """Return the line of a ``sched-`` file."""
        unit = "".join(f";{amount}" for amount in self.request)
        held = "".join(f"{node}{unit}#" for node in self.nodes)
        return (
            f"{name(self.job_id)};{name(self.user)};{date(self.queued)}__{held}__"
            f"{date(self.start)};{date(self.end)};{self.units};{self.cores};{self.memory};"
            f"{self.requested_time};\n"
        )

    def pretty(self, number: int) -> str:
        """Return the line of a ``pprint-`` file; ``number`` counts ends from 1."""
        wait, runtime = self.start - self.queued, self.end - self.start
        return _PRETTY.format(
            number, name(self.job_id), date(self.start), date(self.end), wait, runtime,
            slowdown(wait, runtime), self.units, self.cores, self.memory,
            ",".join(map(str, self.nodes)),
        )  # fmt: skip


def slowdown(wait: int, runtime: int) -> float:
    """Return AccaSim's slowdown: with two decimals, and the wait where a job ran for no time."""
    if runtime:
        return float(f"{(wait + runtime) / runtime:.2f}")
    return float(wait or 1)
