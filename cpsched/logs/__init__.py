"""
Job logs: read any registered format into a workload, write workloads.

:func:`read` recognises a file by what is in it. Formats are registered under
``cpsched.log_formats`` (see :class:`LogFormat`) and imported when they are needed.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from cpsched.errors import ConfigError, TraceError
from cpsched.util import registry
from cpsched.util.words import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from os import PathLike

    from cpsched.logs.rejects import RejectedRows
    from cpsched.model.workload import Workload


class LogFormat(Protocol):
    """
    A format of job logs; registered by name under ``cpsched.log_formats``.

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

    def read(self, path: Path, rejected: RejectedRows) -> Workload:
        """
        Read a log.

        Nothing is dropped or mended silently: rows which are not jobs (never ran, ...) are
        counted in the workload's ``set_aside``. Rows that cannot be read go into ``rejected``, and
        their number into ``set_aside`` as ``bad line``.

        Raises
        ------
        TraceError
            If the file cannot be read, is cut off, or holds no job at all.
        """
        ...


def read(
    path: str | PathLike[str],
    *,
    format: str | None = None,  # noqa: A002
    skip_bad_lines: bool = False,
    rejects: str | PathLike[str] | None = None,
) -> Workload:
    """
    Read a job log.

    Parameters
    ----------
    path
        The file, plain or gzip.
    format
        Name of a registered format. None: recognised from the content.
    skip_bad_lines
        Whether to skip invalid lines and count them in ``set_aside`` (as ``bad line``) instead of
        stopping at the first one.
    rejects
        CSV file to write, with a row for each invalid line: ``line``, ``field``, ``value``,
        ``reason`` and ``text``. It is written in both cases.

    Raises
    ------
    TraceError
        If the file cannot be read or is invalid. The message has file, line, field and value of the
        first invalid line, and the number of invalid lines.
    UnknownNameError
        If no format has that name.
    """
    from cpsched.logs.rejects import RejectedRows

    path = Path(path)
    if rejects is not None and Path(rejects).resolve() == path.resolve():
        raise TraceError("is the log itself. Choose another file for its rejected rows.", file=path)
    reader: LogFormat = registry.load("log_formats", format or detect(path))
    rejected = RejectedRows(listed=rejects is not None)
    try:
        workload = reader.read(path, rejected)
    except TraceError:
        if rejected.first is None or skip_bad_lines:
            raise
        raise rejected.first from None
    finally:
        if rejects is not None:
            rejected.write(path, Path(rejects))
    if rejected.first is not None and not skip_bad_lines:
        raise _with_count(rejected.first, rejected.count)
    return workload


def _with_count(error: TraceError, number: int) -> TraceError:
    """Return the error of a log's first invalid line with how many there are, and a way on."""
    what = "it" if number == 1 else f"the {counted(number, 'bad line')}"
    return TraceError(
        f"{error.reason.rstrip('.')}. --skip-bad-lines skips {what}.",
        file=error.file, line=error.line, field=error.field, value=error.value,
    )  # fmt: skip


def write(
    workload: Workload,
    path: str | PathLike[str],
    *,
    format: str | None = None,  # noqa: A002
) -> tuple[str, ...]:
    """
    Write a workload, by default in the format of the file's name.

    Returns
    -------
    tuple of str
        The data that the format cannot store, in words. Empty if everything is stored.

    Raises
    ------
    TraceError
        If the name determines no format, or the format or the file cannot be written.
    UnknownNameError
        If no format has that name.
    """
    path = Path(path)
    name = format or _named(path)
    if name is None:
        endings = sorted(end for reader in _formats() if reader.write for end in reader.suffixes)
        raise TraceError(
            f"the ending names no writable format. End the name in {', '.join(endings)} (text also"
            " .gz), or give the format (log convert --to-format).",
            file=path,
        )
    writer = registry.load("log_formats", name).write
    if writer is None:
        raise TraceError(f"the format '{name}' can only be read", file=path)
    return tuple(writer(workload, path) or ())


def detect(path: str | PathLike[str]) -> str:
    """
    Return the name of a file's format, by its content or else by its name.

    Raises
    ------
    TraceError
        If both are unclear (the message lists the formats), or the file cannot be read.
    """
    from cpsched.logs.foreign import foreign
    from cpsched.logs.text import head

    path = Path(path)
    start = head(path)
    choice = f"Choose one of {', '.join(registry.names('log_formats'))} with --input-format."
    matching = [reader.name for reader in _formats() if reader.matches(path, start)]
    if len(matching) == 1:
        return matching[0]
    known = f"Formats: {', '.join(registry.names('log_formats'))} (--input-format)"
    if not matching and (what := foreign(start)):
        raise TraceError(f"is {what}. {known}", file=path)
    name = _named(path)
    if name is None:
        what = f"could be {' or '.join(matching)}" if matching else "has an unknown format"
        raise TraceError(f"{what if start.strip() else 'is empty'}. {choice}", file=path)
    return name


def _named(path: Path) -> str | None:
    """Return the format whose ending the name has."""
    name = path.name.lower().removesuffix(".gz")
    return next((reader.name for reader in _formats() if name.endswith(reader.suffixes)), None)


def _formats() -> Iterator[LogFormat]:
    """Yield every registered format; one that cannot be imported is named in a warning."""
    for name in registry.names("log_formats"):
        try:
            yield registry.load("log_formats", name)
        except ConfigError as error:
            warnings.warn(f"log format ignored: {error}", RuntimeWarning, stacklevel=3)
