"""
The store behind job tables: one int64 row for every job submitted so far.

It is filled by copying, never by slicing a workload, so no array reachable from it has the future
behind it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.model import columns as c
from cpsched.model.arrays import move, shared
from cpsched.model.distinct import distinct, renumbered
from cpsched.util.types import MISSING, UNBOUNDED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cpsched import _core
    from cpsched.util.types import AnyArray, FloatArray, IntArray

#: Columns of strings a store keeps.
LABELS = ("queue", "user", "name", "group", "qos", "reservation", "licenses", "array")
#: Where each column that is known at submit lies, by its name in :mod:`cpsched.model.columns`.
SUBMIT_COLUMNS = {
    name.lower(): position
    for name, position in takewhile(lambda item: item[0] != "NUM_SUBMIT", vars(c).items())
    if name.isupper()
}
#: What a column is where nothing is said; or which other column it is then equal to.
_NEUTRAL: Mapping[str, int | str] = {
    "nodes_min": 1,
    "nodes_max": UNBOUNDED,
    "expected_wait": -1,
    **dict.fromkeys(LABELS, -1),
    "not_before": MISSING,
    **dict.fromkeys(("switch_wait", "deadline"), MISSING),
    **dict.fromkeys(("units_min", "units_max"), "units"),
    "ranking_estimate": "requested_time",
    "runtime_estimate": "requested_time",
    "runtime_bound": "requested_time",
}
#: What stands where nothing is known of a job.
_UNKNOWN: Mapping[str, int | float] = {"quantiles": -1, "ends_within": float("nan")}


def submit_rows(num: int, known: Mapping[str, AnyArray | int]) -> IntArray:
    """
    Return jobs as rows of a store; the one place where a job becomes such a row.

    Parameters
    ----------
    num
        How many jobs n.
    known
        Columns by the names of :data:`SUBMIT_COLUMNS`: shape ``(n,)``, or one number for all. What
        is left out asks for nothing special, and predictions are the requested time.

    Returns
    -------
    ndarray
        int64, shape ``(n, NUM_SUBMIT)``.
    """
    rows = np.zeros((num, c.NUM_SUBMIT), dtype=np.int64)
    for name, position in SUBMIT_COLUMNS.items():
        value = known.get(name)
        if value is None:
            neutral = _NEUTRAL.get(name, 0)
            value = known[neutral] if isinstance(neutral, str) else neutral
        rows[:, position] = value
    return rows


class Strings(Sequence[str]):
    """The strings of a label by code, to look at; the store adds to them."""

    __slots__ = ("_strings",)

    def __init__(self, strings: list[str]) -> None:
        self._strings = strings

    def __getitem__(self, code: Any) -> Any:
        return self._strings[code]

    def __len__(self) -> int:
        return len(self._strings)


class JobStore:
    """
    Every job submitted so far, as columns.

    Parameters
    ----------
    resources
        Names of the R resource types.
    capacity
        Number of rows at first. The store doubles when it is full.
    cluster
        Works on the store's tables, and is told where they are.

    Attributes
    ----------
    columns
        int64, shape ``(capacity, NUM_COLUMNS)``; one job a row, columns as in
        :mod:`cpsched.model.columns`. These and the shapes cannot be made writable.
    shapes
        Distinct requests, int64, shape ``(S, SHAPE_REQUEST + 3 R)``.
    labels
        The strings seen so far for each label (:data:`LABELS`), by code.
    quantiles, ends_within
        Further parts of predictions (:class:`cpsched.model.prediction.Prediction`), one row for
        each of :attr:`columns`; -1 or NaN where nothing is known. None until a predictor gives
        some. They cannot be made writable either.
    """

    def __init__(
        self, resources: Sequence[str], capacity: int = 1024, cluster: _core.Cluster | None = None
    ) -> None:
        self._cluster = cluster
        self.resources = tuple(resources)
        self._strings: dict[str, list[str]] = {label: [] for label in LABELS}
        self.labels: Mapping[str, Sequence[str]] = MappingProxyType(
            {label: Strings(known) for label, known in self._strings.items()}
        )
        self._size = 0
        self._reordered = 0
        width = c.SHAPE_REQUEST + 3 * len(self.resources)
        self._shapes, self._shapes_shown = shared(16, width)
        self.shapes: IntArray = self._shapes_shown[:0]
        if cluster is not None:
            cluster.look_at_requests(self.shapes)
        #: The columns for the owner of the store.
        self.writable, self.columns = shared(max(capacity, 1), c.NUM_COLUMNS)
        if cluster is not None:
            cluster.look_at_jobs(self.writable)
        self.quantiles: IntArray | None = None
        self.ends_within: FloatArray | None = None
        self._writable_distribution: dict[str, AnyArray] = {}

    def add_strings(self, label: str, strings: Iterable[str]) -> None:
        """Append strings that a label has not had."""
        self._strings[label].extend(strings)

    def append(self, block: IntArray) -> int:
        """
        Copy submitted jobs into the store.

        Parameters
        ----------
        block
            int64, shape ``(n, NUM_SUBMIT)``: the submit columns, one job a row.

        Returns
        -------
        int
            The row of the first; the others follow it.
        """
        first = self.size
        end = first + len(block)
        if end > len(self.columns):
            self.reserve(max(2 * len(self.columns), end))
        self.writable[first:end, : c.NUM_SUBMIT] = block
        self.size = end
        return first

    def reserve(self, num: int) -> None:
        """Make room for so many jobs."""
        if num > len(self.columns):
            grown, shown = shared(num, c.NUM_COLUMNS)
            move(self.columns[: self.size], grown)
            self.writable, self.columns = grown, shown
            if self._cluster is not None:
                self._cluster.look_at_jobs(grown)
            for name, old in list(self._writable_distribution.items()):
                self._make_distribution(name, old.shape[1])[: self.size] = old[: self.size]

    def set_distribution(
        self, rows: AnyArray | slice, quantiles: IntArray | None, ends_within: FloatArray | None
    ) -> None:
        """
        Write down what is likely of some rows; None where that is not known.

        Parameters
        ----------
        quantiles, ends_within
            One row for each of ``rows``, as in :attr:`quantiles` and :attr:`ends_within`.
        """
        for name, values in (("quantiles", quantiles), ("ends_within", ends_within)):
            target = self._writable_distribution.get(name)
            if values is not None:
                if target is None:
                    target = self._make_distribution(name, values.shape[1])
                target[rows] = values
            elif target is not None:
                target[rows] = _UNKNOWN[name]

    def _make_distribution(self, name: str, width: int) -> AnyArray:
        """Make room for as many rows as there are, and return it."""
        unknown = np.array(_UNKNOWN[name])
        writable, shown = (face.view(unknown.dtype) for face in shared(len(self.columns), width))
        writable[:] = unknown
        self._writable_distribution[name] = writable
        setattr(self, name, shown)
        return writable

    @property
    def size(self) -> int:
        """The number of jobs submitted so far."""
        return self._size if self._cluster is None else self._cluster.num_jobs

    @size.setter
    def size(self, count: int) -> None:
        if self._cluster is None:
            self._size = count
        else:
            self._cluster.num_jobs = count

    @property
    def reordered(self) -> int:
        """The number of jobs that came into the queue elsewhere than at its end, or changed."""
        return self._reordered if self._cluster is None else self._cluster.reordered

    @reordered.setter
    def reordered(self, count: int) -> None:
        if self._cluster is None:
            self._reordered = count
        else:
            self._cluster.reordered = count

    def add_shapes(self, shapes: IntArray) -> None:
        """Append distinct requests; rows as in :attr:`shapes`."""
        first = len(self.shapes)
        end = first + len(shapes)
        if end > len(self._shapes):
            grown, shown = shared(max(2 * len(self._shapes), end), self._shapes.shape[1])
            grown[:first] = self.shapes
            self._shapes, self._shapes_shown = grown, shown
        self._shapes[first:end] = shapes
        self.shapes = self._shapes_shown[:end]
        if self._cluster is not None:
            self._cluster.look_at_requests(self.shapes)


def distinct_shapes(columns: Sequence[AnyArray], num: int) -> tuple[IntArray, IntArray]:
    """
    Number the distinct requests in order of first appearance.

    Parameters
    ----------
    columns
        Those of :attr:`JobStore.shapes`, in their order, for ``num`` jobs.

    Returns
    -------
    shapes, shape_of
        The distinct rows as in :attr:`JobStore.shapes`, and each job's row of it.
    """
    code, first = renumbered(*distinct(columns, num))
    return np.stack([column[first] for column in columns], axis=1, dtype=np.int64), code
