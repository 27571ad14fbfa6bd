"""
A site's rules about what running jobs may use together, in a line each.

``core per user at most 64`` caps every user, ``jobs of queue debug at most 4`` one queue, and
``10*core + 250*gpu at most 20000`` the power of the machine. Jobs count with the least that they
ask for, ``jobs`` counts one for each; a job without the label, such as a user, is not counted.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from cpsched.cp.pool import Limit
from cpsched.dispatch.pooled import pooled_demand
from cpsched.errors import ConfigError, did_you_mean
from cpsched.model.jobstore import LABELS, SUBMIT_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from cpsched.dispatch.allocators import Allocator
    from cpsched.model.jobtable import JobTable
    from cpsched.model.view import View
    from cpsched.util.types import IntArray

_RULE = re.compile(
    r"(?P<terms>.+?)(?: +(?:per +(?P<each>\w+)|of +(?P<label>\w+) +(?P<value>\S+)))?"
    r" +at most +(?P<cap>\d{1,15})"
)
_TERM = re.compile(r"(?:(?P<factor>\d{1,9}) *\* *)?(?P<kind>[\w-]+)")
_JOBS = "jobs"


class UsageCap(NamedTuple):
    """
    One rule of the site.

    Attributes
    ----------
    factors
        By resource kind, or ``jobs``.
    label, value
        The label whose values are capped each, or of which one value is; None: all jobs together.
    cap
        The cap.
    """

    text: str
    factors: Mapping[str, int]
    label: str | None
    value: str | None
    cap: int

    @classmethod
    def of(cls, text: str) -> Self:
        """
        Read a rule.

        Raises
        ------
        ConfigError
            If it is none.
        """
        match = _RULE.fullmatch(text.strip())
        terms = match and [_TERM.fullmatch(term.strip()) for term in match["terms"].split("+")]
        if not match or not terms or not all(terms):
            raise ConfigError(
                f"'{text.strip()}' is not a rule such as 'core per user at most 64', 'jobs of"
                " queue debug at most 4' or '10*core + 250*gpu at most 20000'",
                key="constraint",
            )
        label = match["each"] or match["label"]
        if label not in {None, *LABELS}:
            raise ConfigError(
                f"'{text.strip()}': unknown label '{label}'. Labels: {', '.join(LABELS)}",
                key="constraint",
            )
        factors = {term["kind"]: int(term["factor"] or 1) for term in terms if term}
        return cls(text.strip(), factors, label, match["value"], int(match["cap"]))

    def check(self, resources: Sequence[str], queues: Collection[str]) -> None:
        """Raise a ``ConfigError`` if it counts, or is about, what a system does not have."""
        if self.label == "queue" and queues and self.value not in (None, *queues):
            raise ConfigError(
                f"'{self.text}': unknown queue '{self.value}'. Queues:"
                f" {', '.join(queues)}.{did_you_mean(str(self.value), queues)}",
                key="constraint",
            )
        for kind in self.factors:
            if kind not in (_JOBS, *resources):
                raise ConfigError(
                    f"'{self.text}': unknown resource type '{kind}'. Types:"
                    f" {', '.join(resources)}.",
                    key="constraint",
                )

    def limits(self, view: View, jobs: JobTable, allocator: Allocator) -> Iterator[Limit]:
        """
        Yield what it means for some waiting jobs: a limit for each value that could be exceeded.
        """
        requested = self._amounts(view, jobs, allocator)
        allocated = self._amounts(view, view.running, allocator)
        for waiting, running in self._groups(jobs, view.running):
            demand, taken = requested * waiting, allocated * running
            if demand.sum() + taken.sum() > self.cap:
                yield Limit(demand, taken, self.cap, f"rule '{self.text}'")

    def _groups(self, *tables: JobTable) -> Iterator[list[IntArray]]:
        """Yield of each value of the label which jobs of some tables have it."""
        if self.label is None:
            yield [np.ones(len(table), dtype=np.int64) for table in tables]
            return
        codes = [table.column(SUBMIT_COLUMNS[self.label]) for table in tables]
        known = list(tables[0].store.labels[self.label])
        if self.value is None:
            values = np.unique(codes[0][codes[0] >= 0]).tolist()
        else:
            values = [known.index(self.value)] if self.value in known else []
        for value in values:
            yield [(code == value).astype(np.int64) for code in codes]

    def _amounts(self, view: View, jobs: JobTable, allocator: Allocator) -> IntArray:
        """Return what jobs count, shape ``(n,)``."""
        total = np.full(len(jobs), self.factors.get(_JOBS, 0), dtype=np.int64)
        kinds = [(kind, by) for kind, by in self.factors.items() if kind != _JOBS]
        if kinds:
            demand = pooled_demand(view, jobs, allocator)
            for kind, by in kinds:
                total += by * demand[:, jobs.resources.index(kind)]
        return total


def caps_of(text: str | None) -> tuple[UsageCap, ...]:
    """Read rules with ``and`` between them."""
    return () if text is None else tuple(UsageCap.of(part) for part in re.split(r"\band\b", text))
