"""Whether a job's segments or limit of switches fit the empty machine; exact."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cpsched.util.types import MISSING, Split

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Self

    from cpsched.model.topology import Topology
    from cpsched.model.workload import Workload
    from cpsched.util.types import BoolArray, IntArray


def asks_for_locality(shapes: Workload) -> BoolArray:
    """Tell which jobs ask for segments or a limit of switches that never passes."""
    asked: BoolArray = (shapes.segment > 0) | (_lasting_switches(shapes) > 0)
    return asked


class LocalityRequest(NamedTuple):
    """
    What one job asks of the places of its nodes.

    Attributes
    ----------
    units, nodes_min, nodes_max
        Number of units, and bounds on the number of nodes.
    even, contiguous
        As many units on each node; consecutive nodes.
    segment
        Nodes in a segment, 1 where the job has none.
    switches
        Most groups of the lowest level, 0 for any number.
    """

    units: int
    nodes_min: int
    nodes_max: int
    even: bool
    contiguous: bool
    segment: int
    switches: int

    @classmethod
    def of(cls, shapes: Workload, at: int) -> Self:
        """Return what one job of a workload asks for."""
        return cls(
            units=int(shapes.units[at]),
            nodes_min=int(shapes.nodes_min[at]),
            nodes_max=int(shapes.nodes_max[at]),
            even=bool(shapes.split[at] == Split.EVEN),
            contiguous=bool(shapes.contiguous[at]),
            segment=max(int(shapes.segment[at]), 1),
            switches=int(_lasting_switches(shapes)[at]),
        )

    def why_never(self, fitting: IntArray, topology: Topology, *, is_pool: bool) -> str | None:
        """
        Return why the job fits nowhere, though its units would; None if it fits.

        Parameters
        ----------
        fitting
            Units of the job that each node holds when empty, shape ``(N,)``.
        topology
            Of the machine.
        is_pool
            Whether nodes are counted pools rather than places.
        """
        if is_pool:
            return f"must lie {self._words(topology)}, and the system has no nodes"
        if not self._counts(int((fitting > 0).sum())):
            nodes_max = min(self.nodes_max, self.units, int((fitting > 0).sum()))
            return (
                f"asks for segments of {self.segment} nodes, which {self.nodes_min} to {nodes_max}"
                " nodes are not a multiple of"
            )
        group = topology.level_group(0)
        fits = self.fits_window if self.contiguous else self._fits_groups
        if fits(fitting, group):
            return None
        sizes = np.bincount(group, minlength=1)
        if self.segment > sizes.max():
            return (
                f"asks for segments of {self.segment} nodes, no {topology.group_words[0]} has more"
                f" than {sizes.max()}"
            )
        return f"its {self.units} tasks do not fit {self._words(topology)}"

    def _words(self, topology: Topology) -> str:
        """Say what is asked for."""
        parts = []
        singular, plural = topology.group_words
        if self.segment > 1:
            parts.append(f"in segments of {self.segment} nodes, each in one {singular}")
        if self.switches:
            parts.append(f"in at most {self.switches} {singular if self.switches == 1 else plural}")
        if self.contiguous:
            parts.append("on consecutive nodes")
        return " and ".join(parts) or f"in segments of {self.segment} node"

    def _counts(self, usable: int) -> range:
        """Return the numbers of nodes that bounds, units and segments allow."""
        first = -(-self.nodes_min // self.segment) * self.segment
        return range(first, min(self.nodes_max, self.units, usable) + 1, self.segment)

    def shares(self, usable: int) -> Iterator[tuple[int, int]]:
        """Yield numbers of nodes with the units each must hold at least."""
        for num in self._counts(usable):
            if not self.even:
                yield num, 1
            elif self.units % num == 0:
                yield num, self.units // num

    def _fits_groups(self, fitting: IntArray, group: IntArray) -> bool:
        """Say whether the job fits on nodes that may lie anywhere in their groups."""
        if self.even:
            return any(
                self._most_chunks(fitting >= share, group) * self.segment >= num
                for num, share in self.shares(len(fitting))
            )
        counts = self._counts(int((fitting > 0).sum()))
        low, high = counts[0] // self.segment, counts[-1] // self.segment
        values = _chunk_values(fitting, group, self.segment)
        groups = self.switches or len(values)
        if groups >= len(values):
            # The best chunks of a group are its first: those of all groups, best first.
            best = np.sort(np.concatenate([*values, np.zeros(0, dtype=np.int64)]))[::-1][:high]
            return len(best) >= low and int(best.sum()) >= self.units
        if len(np.unique(fitting[fitting > 0])) == 1:
            num = min(self._most_chunks(fitting > 0, group), high)
            return num >= low and num * self.segment * int(fitting.max()) >= self.units
        return bool((_best_units(values, groups, high)[low:] >= self.units).any())

    def _most_chunks(self, usable: BoolArray, group: IntArray) -> int:
        """Return how many segments the allowed number of groups holds on usable nodes."""
        chunks = np.sort(np.bincount(group[usable], minlength=1) // self.segment)[::-1]
        return int(chunks[: self.switches or None].sum())

    def fits_window(self, fitting: IntArray, group: IntArray) -> bool:
        """
        Say whether the job fits on consecutive nodes.

        Parameters
        ----------
        fitting
            Units of the job that each node holds when empty, shape ``(N,)``.
        group
            The lowest group of the topology that each node is in, shape ``(N,)``.
        """
        sizes = np.bincount(group)
        ends = np.cumsum(sizes)
        torn = np.concatenate([[0], np.cumsum(sizes % self.segment != 0)])
        sums = np.concatenate([[0], np.cumsum(fitting)])
        for num, share in self._windows(fitting):
            begin = np.arange(len(fitting) - num + 1)
            first, last = group[begin], group[begin + num - 1]
            usable = np.concatenate([[0], np.cumsum(fitting >= share)])
            good = usable[begin + num] - usable[begin] == num
            if not self.even:
                good &= sums[begin + num] - sums[begin] >= self.units
            if self.switches:
                good &= last - first < self.switches
            # Each border inside must be between two segments: the first one, then all groups
            # from it to the last, which are inside as a whole.
            untorn = torn[np.maximum(last, first + 1)] == torn[first + 1]
            good &= (first == last) | (((ends[first] - begin) % self.segment == 0) & untorn)
            if good.any():
                return True
        return False

    def _windows(self, fitting: IntArray) -> Iterable[tuple[int, int]]:
        """Return the numbers of consecutive nodes to try, with the units each must hold."""
        if self.even or self.segment > 1 or self.switches:
            return self.shares(len(fitting))
        # A longer window holds more, so only the longest allowed one of each run matters.
        gaps = np.flatnonzero(fitting == 0)
        lengths = np.diff(gaps, prepend=-1, append=len(fitting)) - 1
        longest = np.minimum(np.unique(lengths), min(self.nodes_max, self.units))
        return [(num, 1) for num in np.unique(longest).tolist() if num >= self.nodes_min]


def _lasting_switches(shapes: Workload) -> IntArray:
    """Return the limits of switches that never pass; a job outwaits the others."""
    return np.where(shapes.switch_wait == MISSING, shapes.max_switches, 0)


def _chunk_values(fitting: IntArray, group: IntArray, segment: int) -> list[IntArray]:
    """Return what each group's best segment holds, its second best and so on."""
    values = []
    for number in range(int(group[-1]) + 1):
        own = np.sort(fitting[(group == number) & (fitting > 0)])[::-1]
        in_segments = len(own) // segment * segment
        if in_segments:
            values.append(own[:in_segments].reshape(-1, segment).sum(axis=1))
    return values


def _best_units(values: list[IntArray], groups: int, limit: int) -> IntArray:
    """Return the most units that so many segments of so few groups hold, shape ``(most + 1,)``."""
    never = np.iinfo(np.int64).min // 2
    best = np.full((groups + 1, limit + 1), never, dtype=np.int64)
    best[:, 0] = 0
    used: dict[bytes, int] = {}
    for value in values:
        # More groups that are alike than may be touched change nothing.
        key = value.tobytes()
        used[key] = used.get(key, 0) + 1
        if used[key] > groups:
            continue
        before = best.copy()
        for num, units in enumerate(np.cumsum(value[:limit]).tolist(), start=1):
            part = before[:-1, : limit + 1 - num] + units
            best[1:, num:] = np.maximum(best[1:, num:], part)
    best_units: IntArray = best[-1]
    return best_units
