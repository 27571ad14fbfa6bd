"""
The output of ``sacct`` as rows of named columns: text here, JSON in the module ``as_json``.

Columns of text come in any order, with any delimiter but a comma: one or more characters that are
neither letters nor digits (``--parsable2``, ``--parsable``, ``--delimiter``). Their names are in
the header, which may be there again where exports were joined; lines with ``#`` before it are
comments.

Names of jobs and commands are written as they are, and so may hold the delimiter or end lines:

- a line with too many columns is divided so that every column has what it can hold, and texts have
  the rest; where that leaves a choice, the last text has most;
- a line that does not begin a row goes on with the text of the row before it;
- bytes that are not UTF-8 are taken as Latin-1.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cpsched.errors import TraceError, did_you_mean
from cpsched.logs.rejects import RejectedRows
from cpsched.logs.sacct.as_json import SacctRow, is_json, json_rows
from cpsched.logs.text import MAX_LINE, FilePosition, check_header, decode, head, lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

#: Without one of each line's columns there is not a job.
_NEEDED = ("JobID or JobIDRaw", "Submit", "Start", "ElapsedRaw or Elapsed or End")

_HEADER_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
#: A job, a task or tasks of an array, a component of a heterogeneous job, or a step of those.
JOB_ID = re.compile(r"[0-9]+(?:_(?:[0-9]+|\[[^\]]*\]?)|\+[0-9]+)?(?:\.[\w+]+)?")
_ITEM = r"[\w./:-]+=[\w.]*"
_TEXTS = frozenset(
    (
        *("jobname", "submitline", "comment", "admincomment", "systemcomment", "workdir"),
        *("container", "constraints"),
    )
)
_TIME = re.compile(r"[0-9][0-9T:.Z+-]*|Unknown|None|N/A|NONE|")
_WORD = re.compile(r"\S*")
_CLASSES: dict[str, re.Pattern[str]] = {
    **dict.fromkeys(("jobid", "jobidraw"), JOB_ID),
    **dict.fromkeys(("submit", "eligible", "start", "end"), _TIME),
    **dict.fromkeys(("user", "account", "qos", "partition", "reservation"), _WORD),
    **dict.fromkeys(("reqmem", "maxrss"), re.compile(r"[0-9.]*[KMGTP]?[cn]?")),
    "flags": re.compile(r"(?:[A-Z][A-Za-z]+(?:,[A-Z][A-Za-z]+)*)?"),
    "elapsedraw": re.compile(r"-?[0-9]*|INVALID"),
    "priority": re.compile(r"[0-9]*"),
    **dict.fromkeys(("reqcpus", "alloccpus", "ncpus", "nnodes"), re.compile(r"[0-9.]*[KMG]?")),
    **dict.fromkeys(("reqtres", "alloctres"), re.compile(rf"(?:{_ITEM}(?:,{_ITEM})*)?")),
    "timelimitraw": re.compile(r"[0-9]*|UNLIMITED|Partition_Limit|INVALID"),
    "state": re.compile(r"(?:[A-Z_]+(?:,[A-Z_]+)*(?: by [0-9]+)?\+?)?"),
}
_NO_REASON = ("", "None")
#: Columns a line has too many, times those it should have; a line with more is not divided.
_MOST_TRIED = 200_000


@dataclass(frozen=True, slots=True)
class LineLayout:
    """How lines are made of columns; names in lower case, '' after the last delimiter."""

    names: tuple[str, ...]
    delimiter: str

    def divided(self, cells: list[str], position: FilePosition) -> list[str]:
        """Return the columns of a row from what stands between its delimiters."""
        surplus = len(cells) - len(self.names)
        if surplus == 0:
            return cells
        tried = surplus > 0 and surplus * len(self.names) <= _MOST_TRIED
        columns = self._joined(cells) if tried else None
        if columns is None:
            raise position.error(
                f"the line has {len(cells)} columns, and the header has {len(self.names)}"
                + (" (a name with the delimiter in it?)" if surplus > 0 else "")
            )
        return columns

    def begins_row(self, cells: Sequence[str]) -> bool:
        """Tell whether a line begins a row and does not go on with the text before it."""
        if len(cells) >= len(self.names):
            return True
        if _TEXTS.isdisjoint(set(self.names[:-1]) - {"jobname"}) and self.names[-1] in _TEXTS:
            return False  # names of jobs are of one line
        at = self.names.index("jobid" if "jobid" in self.names else "jobidraw")
        return len(cells) > at + 1 and bool(JOB_ID.fullmatch(cells[at].strip()))

    def goes_on(self, cells: Sequence[str]) -> bool:
        """Tell whether the text that ends a row may go on in the next line."""
        if len(cells) < len(self.names):
            return not _TEXTS.isdisjoint(self.names)
        return self.names[-1] in _TEXTS

    def _joined(self, cells: Sequence[str]) -> list[str] | None:
        """Return as many cells as there are columns, by joining some; None if that cannot be."""
        num = len(self.names)
        surplus = len(cells) - num
        # fits[j][i]: cells from i on can be columns from j on.
        fits = [[False] * (len(cells) + 1) for _ in range(num + 1)]
        fits[num][len(cells)] = True
        for j, name in reversed(list(enumerate(self.names))):
            for i in range(j + surplus, j - 1, -1):
                rest = fits[j + 1][i + 1] or (name in _TEXTS and fits[j][i + 1])
                fits[j][i] = rest and _takes(name, cells[i])
        if not fits[0][0]:
            return None
        joined, i = [], 0
        for j in range(num):
            end = i + 1
            while not fits[j + 1][end]:
                end += 1
            joined.append(self.delimiter.join(cells[i:end]))
            i = end
        return joined


def _takes(name: str, cell: str) -> bool:
    """Tell whether a column can hold a cell."""
    return name not in _CLASSES or bool(_CLASSES[name].fullmatch(cell))


class SacctRecords:
    """
    The jobs and steps of a file.

    Parameters
    ----------
    path
        Output of ``sacct --parsable2`` or ``sacct --json``, plain or gzip.
    rejected
        Takes the rows that cannot be read.

    Attributes
    ----------
    notes
        How many lines of text are mended, and how.
    """

    def __init__(self, path: Path, rejected: RejectedRows | None = None) -> None:
        self.path = path
        self.rejected = RejectedRows() if rejected is None else rejected
        self.notes: Counter[str] = Counter()

    def rows(self) -> Iterator[SacctRow]:
        """
        Return the rows, as they come.

        Raises
        ------
        TraceError
            If the file cannot be read, or is no output of sacct.
        """
        if is_json(head(self.path)):
            return json_rows(self.path, self.rejected)
        return self._lines()

    def _lines(self) -> Iterator[SacctRow]:
        """Yield the rows of text after the header."""
        layout: LineLayout | None = None
        header = ""
        cells: list[str] = []
        texts: list[str] = []
        position = FilePosition(self.path, 0)
        for number, raw in lines(self.path):
            next_position = FilePosition(self.path, number)
            try:
                text = self._decoded(raw, next_position)
            except TraceError as error:
                if layout is None:
                    raise
                self.rejected.add(error)
                continue
            if layout is None:
                if not text.startswith("#"):
                    layout, header = _layout(text, next_position), text
                continue
            if text == header:
                continue
            next_cells = text.split(layout.delimiter)
            if layout.begins_row(next_cells) or not (cells and layout.goes_on(cells)):
                yield from self._row(layout, cells, position, texts)
                cells, texts, position = next_cells, [text], next_position
            elif len(cells[-1]) + len(text) < MAX_LINE:
                self.notes["continue the text of the line before"] += 1
                cells[-1:] = [f"{cells[-1]}\n{next_cells[0]}", *next_cells[1:]]
                texts.append(text)
            else:
                why = f"the text goes on for more than {MAX_LINE} characters"
                self.rejected.add(next_position.error(why))
        if layout is not None:
            yield from self._row(layout, cells, position, texts)

    def _row(
        self, layout: LineLayout, cells: list[str], position: FilePosition, texts: Sequence[str]
    ) -> Iterator[SacctRow]:
        if not cells:
            return
        text = "\n".join(texts)
        try:
            columns = layout.divided(cells, position)
            if columns is not cells:
                self.notes["have the delimiter in a text"] += 1
            values = dict(zip(layout.names, map(str.strip, columns), strict=True))
            row = SacctRow(values, position, text)
            if not row.job_id:
                raise position.error("must not be empty", "JobID")
        except TraceError as error:
            self.rejected.add(error, text)
        else:
            yield row

    def _decoded(self, raw: bytes, position: FilePosition) -> str:
        try:
            return raw.decode() if b"\0" not in raw else decode(raw, position)
        except UnicodeDecodeError:
            self.notes["are not UTF-8 and were read as Latin-1"] += 1
            return raw.decode("latin-1")


def _header(text: str) -> tuple[tuple[str, ...], str] | None:
    """Return names in lower case and the delimiter of a line of names, None if it is none."""
    names = [name.lower() for name in _HEADER_NAME.findall(text)]
    between = _HEADER_NAME.split(text)
    # After the last name there is nothing, or (--parsable) one more delimiter.
    if len(names) < 2 or between[0].strip() or not between[1].strip(" "):
        return None
    inner, last = set(between[1:-1]), between[-1]
    if len(inner) != 1 or last not in ("", *inner) or {"jobid", "jobidraw"}.isdisjoint(names):
        return None
    return (*names, *([""] if last else [])), between[1]


def is_first_line(start: bytes) -> bool:
    """Tell whether the first bytes of a file are those of sacct's lines."""
    lines = (line.decode("utf-8", "replace").strip() for line in start.split(b"\n"))
    first = next((line for line in lines if line and not line.startswith("#")), "")
    return _header(first) is not None


def _layout(first: str, position: FilePosition) -> LineLayout:
    """Return how the columns that a header names are on a line."""
    layout = _header(first)
    if layout is None:
        raise position.error("is not a header of sacct --parsable2 such as JobID|JobName|...")
    if layout[1] == ",":
        raise position.error("has commas between and within columns. Use sacct --parsable2.")
    check_header(layout[0], position)
    missing = [
        needed
        for needed in _NEEDED
        if not any(name in layout[0] for name in needed.lower().split(" or "))
    ]
    if missing:
        hint = did_you_mean(missing[0].lower(), layout[0]) if len(missing) == 1 else ""
        raise position.error(
            f"the header has no column {', and no '.join(missing)}."
            f"{hint.replace('Did you mean', 'Is it called')}"
            " The command to export is in docs/guides/read-a-log.md."
        )
    return LineLayout(*layout)


def reasons_of(log: Path) -> Mapping[str, str]:
    """
    Return the last reason, by job, for which Slurm did not start it; none where it says nothing.

    That is the column ``Reason`` of sacct; Priority and Resources are not recorded there. A log of
    another kind has no reasons.
    """
    try:
        return {
            row.job_id: reason
            for row in SacctRecords(log).rows()
            if not row.is_step and (reason := row.values.get("reason", "")) not in _NO_REASON
        }
    except TraceError:
        return {}
