"""
Nodes that fail or are taken out of service: their times, and the simulator's state about them.
"""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np

from cpsched.errors import ConfigError, TraceError, check_range
from cpsched.model.schedule import Outages
from cpsched.util.node_lists import listed, named_nodes
from cpsched.util.spec import File  # noqa: TC001  (an annotation that options are read by)
from cpsched.util.types import MAX_TIME

if TYPE_CHECKING:
    from collections.abc import Sequence

_COLUMNS = ("node", "from", "to")
#: It may be left out, or empty in a row.
_KNOWN = "known"
#: Of an option, seconds: a hundred years.
_LONGEST = 100 * 366 * 86400


class OutageModel(Protocol):
    """Base class of models of node outages, such as ``random``."""

    def outages(self, names: Sequence[str], first: int, last: int, seed: int) -> Outages:
        """
        Return the times at which nodes are down.

        Parameters
        ----------
        names
            Names of the nodes of the system, in its order.
        first, last
            The second of the first submit, and the last second of interest.
        seed
            Seed of all random choices.
        """
        ...


class NoOutages:
    """No outages of nodes."""

    name: ClassVar[str] = "none"

    def outages(self, names: Sequence[str], first: int, last: int, seed: int) -> Outages:  # noqa: ARG002
        """Return an empty set of outages."""
        return Outages.none()


class RandomOutages:
    """
    Independent random failures of every node.

    The times between two failures of a node, and the repair times, are exponentially distributed.

    Parameters
    ----------
    mtbf
        Mean time between failures of a node, seconds.
    repair
        Mean time that a node is down, seconds.
    """

    name: ClassVar[str] = "random"

    def __init__(self, mtbf: int = 365 * 86400, repair: int = 14400) -> None:
        check_range("mtbf", mtbf, 1, _LONGEST)
        check_range("repair", repair, 1, _LONGEST)
        self._mtbf, self._repair = mtbf, repair

    def outages(self, names: Sequence[str], first: int, last: int, seed: int) -> Outages:
        """Return the sampled outages of all nodes."""
        intervals: list[tuple[int, int, int]] = []
        for node, stream in enumerate(np.random.SeedSequence(seed).spawn(len(names))):
            rng = np.random.default_rng(stream)
            now = first + 1 + int(rng.exponential(self._mtbf))
            while now < last:
                up = now + 1 + int(rng.exponential(self._repair))
                intervals.append((node, now, up))
                now = up + 1 + int(rng.exponential(self._mtbf))
        return Outages.of(intervals)


class OutageDuring:
    """
    One outage of some nodes, from a start to an end.

    Parameters
    ----------
    nodes
        Names of the nodes, as Slurm lists hosts: ``n[01-04],m1``. ``all`` for every node.
    start, end
        Seconds of the log's clock, down in ``[start, end)``.
    known
        The second from which the outage is known. None: not before it begins.
    """

    name: ClassVar[str] = "during"

    def __init__(self, nodes: str, start: int, end: int, known: int | None = None) -> None:
        check_range("start", start, -MAX_TIME, MAX_TIME)
        check_range("end", end, start + 1, MAX_TIME)
        if known is not None:
            check_range("known", known, -MAX_TIME, start)
        self._nodes, self._start, self._end = nodes, start, end
        self._known = start if known is None else known

    def outages(self, names: Sequence[str], first: int, last: int, seed: int) -> Outages:  # noqa: ARG002
        """
        Return the outage of each of the nodes.

        Raises
        ------
        ConfigError
            If the system has no such node.
        """
        chosen = list(names) if self._nodes == "all" else named_nodes(self._nodes, names)
        node_of = {name: node for node, name in enumerate(names)}
        rows = [(node_of[name], self._start, self._end) for name in dict.fromkeys(chosen)]
        return Outages.of(rows, [self._known] * len(rows))


class OutageTable:
    """
    Outages of nodes from a CSV table.

    Parameters
    ----------
    file
        A CSV file with the columns ``node`` (a name of the system), ``from`` and ``to``: seconds of
        the log's clock, down in ``[from, to)``. An optional column ``known`` has the second from
        which the outage is known in advance. Where it is empty, the outage is not known before it
        begins.
    """

    name: ClassVar[str] = "table"

    def __init__(self, file: File) -> None:
        self._file = file

    def outages(self, names: Sequence[str], first: int, last: int, seed: int) -> Outages:  # noqa: ARG002
        """
        Return the outages of the table.

        Raises
        ------
        TraceError
            If the file cannot be read, or a line is invalid. The message has line, column and
            value.
        """
        node_of = {name: node for node, name in enumerate(names)}
        try:
            with open(self._file, newline="", encoding="utf-8") as lines:  # noqa: PTH123
                rows = csv.DictReader(lines)
                given = tuple(rows.fieldnames or ())
                if sorted(column for column in given if column != _KNOWN) != sorted(_COLUMNS):
                    raise ConfigError(
                        f"has the columns {', '.join(given) or 'none'}, must have"
                        f" {', '.join(_COLUMNS)}, and may have {_KNOWN}",
                        where=self._file,
                    )
                intervals = [self._row(row, rows.line_num, node_of) for row in rows]
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise ConfigError(f"cannot be read: {error}", where=self._file) from None
        outages = Outages.of([row[:3] for row in intervals], [row[3] for row in intervals])
        again = outages.overlap()
        if again is not None:
            raise ConfigError(
                f"node {names[outages.node[again]]} is down twice at {outages.start[again]}",
                where=self._file,
            )
        return outages

    def _row(
        self, row: dict[str, str | None], line: int, node_of: dict[str, int]
    ) -> tuple[int, int, int, int]:
        name = row["node"] or ""
        if name not in node_of:
            nodes = listed(list(node_of))
            raise self._wrong(line, "node", f"unknown node {name!r}. Nodes: {nodes}.")
        start, end = (self._second(row, line, column) for column in ("from", "to"))
        since = self._second(row, line, _KNOWN) if row.get(_KNOWN) else start
        if end <= start:
            raise self._wrong(line, "to", f"{end} is not after {start}")
        if since > start:
            raise self._wrong(line, _KNOWN, f"{since} is after {start}, when the node goes down")
        return node_of[name], start, end, since

    def _second(self, row: dict[str, str | None], line: int, column: str) -> int:
        text = row[column] or ""
        try:
            second = int(text)
        except ValueError:
            second = MAX_TIME + 1
        if abs(second) > MAX_TIME:
            raise self._wrong(line, column, f"{text!r} is not a whole number of seconds")
        return second

    def _wrong(self, line: int, field: str, message: str) -> TraceError:
        return TraceError(message, file=self._file, line=line, field=field)


class DownNodes:
    """
    Which nodes are down, as time goes on.

    Parameters
    ----------
    outages
        Of the whole simulation.

    Attributes
    ----------
    next_change
        The next second at which a node goes down or comes up; None: never.
    """

    def __init__(self, outages: Outages) -> None:
        self._outages = outages
        # A simulation begins at second 0 at the latest.
        changes = np.maximum(np.concatenate([outages.start, outages.end]), 0)
        self._changes: list[int] = np.unique(changes).tolist()
        self._at = 0

    @property
    def next_change(self) -> int | None:
        """The next second at which something changes."""
        return self._changes[self._at] if self._at < len(self._changes) else None

    def change(self, now: int) -> tuple[list[int], list[int]]:
        """Return the nodes that are down from now on, and those of them that were not before."""
        while self._at < len(self._changes) and self._changes[self._at] <= now:
            self._at += 1
        node, start, end = self._outages.node, self._outages.start, self._outages.end
        down = (start <= now) & (now < end)
        return np.unique(node[down]).tolist(), np.unique(node[down & (start == now)]).tolist()

    @property
    def made(self) -> int:
        """How many seconds at which nodes change are over."""
        return self._at

    def skip(self, made: int) -> None:
        """Continue a simulation with so many of those seconds over."""
        self._at = made

    def skip_to(self, now: int) -> None:
        """Continue a simulation at this second, with all earlier changes made."""
        self._at = int(np.searchsorted(self._changes, now, side="right"))
