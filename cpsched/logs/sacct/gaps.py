"""What of the jobs of a log is not modelled: options of their commands, and columns."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from cpsched.logs.sacct.command import not_modelled
from cpsched.logs.sacct.unread_columns import instead_of, left_over, unread

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

#: Options that say how a job lies on its nodes: nothing, where it is one node.
_OF_NODES = frozenset(("distribution", "ntasks-per-node", "tasks-per-node", "use-min-nodes"))
_NODES = re.compile(r"(?:^|,)node=([0-9]+)(?:,|$)")
_cached = lru_cache(maxsize=2**12)(not_modelled)


def gaps_of(values: Mapping[str, str], options: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield what is not modelled of a row of sacct, and what is simulated instead."""
    for name, value in options.items():
        gap = _cached(name, value)
        if gap and not (name in _OF_NODES and _is_on_single_node(values)):
            yield gap
    for name in left_over(values, _unread(tuple(values))):
        yield f"column {name}", instead_of(name)


def _is_on_single_node(values: Mapping[str, str]) -> bool:
    match = _NODES.search(values.get("alloctres", ""))
    return (match[1] if match else values.get("nnodes") or values.get("allocnodes")) == "1"


@lru_cache(maxsize=2**8)
def _unread(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(unread(names))


@dataclass(slots=True)
class _Count:
    jobs: int = 0
    core_seconds: int = 0


@dataclass(slots=True)
class LogGaps:
    """Counts what is not modelled of the jobs of a log."""

    all: _Count = field(default_factory=_Count)
    counts: dict[tuple[str, str], _Count] = field(default_factory=dict)

    def add(self, values: Mapping[str, str], options: Mapping[str, str], core_seconds: int) -> None:
        """Count a job."""
        self.all.jobs += 1
        self.all.core_seconds += core_seconds
        for gap in gaps_of(values, options):
            count = self.counts.setdefault(gap, _Count())
            count.jobs += 1
            count.core_seconds += core_seconds

    def texts(self) -> Iterator[str]:
        """Yield a line for each, those of most jobs first."""
        order = sorted(self.counts.items(), key=lambda item: (-item[1].jobs, item[0]))
        for (name, instead), count in order:
            jobs = 100 * count.jobs / self.all.jobs
            hours = 100 * count.core_seconds / max(self.all.core_seconds, 1)
            yield (
                f"not modelled: {name} ({instead}): {jobs:.1f} % of the jobs,"
                f" {hours:.1f} % of the core-hours"
            )
