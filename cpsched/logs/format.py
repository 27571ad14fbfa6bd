"""What a trace format is to the rest of cpsched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from cpsched.model.workload import Workload


class LogFormat(Protocol):
    """
    One kind of job log; registered by name under ``cpsched.logs``.

    Attributes
    ----------
    name
        What it is registered and asked for as.
    summary
        One line for lists of formats.
    suffixes
        File name endings (with the dot, without ``.gz``) which mean this format where the
        content does not tell, and when writing.
    write
        Writes a workload to a file, complete or not at all, and returns what the format has no
        place for; raises :class:`~cpsched.errors.TraceError` if it cannot. None where the format
        cannot be written.
    """

    name: str
    summary: str
    suffixes: tuple[str, ...]
    write: Callable[[Workload, Path], Sequence[str] | None] | None

    def matches(self, path: Path, head: bytes) -> bool:
        """
        Tell whether a file is of this format, by its first (unpacked) bytes.

        ``head`` may end in the middle of a line. Formats must not overlap.
        """
        ...

    def read(self, path: Path, *, skip_bad_lines: bool = False) -> Workload:
        """
        Read a log.

        Nothing is dropped or mended silently: rows which are not jobs (never ran, ...) are
        counted in the workload's ``set_aside``.

        Raises
        ------
        TraceError
            At the first invalid line, naming file, line, field and value; with
            ``skip_bad_lines`` such lines are counted under ``bad line`` instead. Always, if the
            file cannot be read, is cut off, or holds no job at all.
        """
        ...
