"""The logs of a set: which are at hand, and the windows of them that are simulated."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Self

import numpy as np
from pydantic import Field

from cpsched.errors import ConfigError, RunError
from cpsched.logs import read as read_log
from cpsched.logs import write as write_log
from cpsched.logs.text import opened
from cpsched.study.inputs import Generated
from cpsched.util.atomic_files import replacing
from cpsched.util.models import Flag, Model, Must, Text, list_of
from cpsched.util.resources import path as shipped

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_BLOCK = 1 << 20


class BenchLog(Model):
    """
    A log of a set.

    Attributes
    ----------
    name
        In tables.
    system
        The machine.
    file, sha256, source
        Of a log that the user brings: its name, the SHA-256 of its unpacked content, and where it
        is found. Empty for others.
    rows
        The window ``[first, end)`` among the log's jobs; None: all of it.
    bundled
        Of a log that comes with cpsched: its file.
    generator, options
        Of one that is generated.
    tuned
        Whether settings of dispatchers that come with cpsched were chosen on other jobs of it.
    """

    name: Text
    system: Text
    file: str = ""
    sha256: str = ""
    source: str = ""
    rows: Annotated[tuple[int, int], *list_of("two whole numbers: [0, 2000]")] | None = None
    bundled: str = ""
    generator: str = ""
    options: Annotated[dict[str, Any], Must("a table")] = Field(default_factory=dict)
    tuned: Flag = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LogWindow:
    """
    The jobs of a log that are simulated, as a file.

    Attributes
    ----------
    path
        The file.
    """

    log: BenchLog
    path: Path

    @classmethod
    def of(cls, log: BenchLog, folder: Path) -> Self:
        """Return the window of a log in a folder, which need not hold its file."""
        slug = "".join(char if char.isalnum() else "-" for char in log.name.lower())
        return cls(log=log, path=folder / f"{slug}.parquet")


def find_logs(logs: Iterable[BenchLog], folders: Iterable[Path]) -> dict[str, Path]:
    """
    Return the file of each log that some folder has, packed or not, by the log's name.

    Raises
    ------
    ConfigError
        If a folder cannot be read.
    """
    files: dict[str, Path] = {}
    for folder in folders:
        try:
            paths = sorted(folder.iterdir())
        except OSError as error:
            raise ConfigError(
                f"cannot be read: {error.strerror or error}", where=folder, key="--logs"
            ) from error
        for path in paths:
            files.setdefault(path.name.removesuffix(".gz"), path)
    return {log.name: files[log.file] for log in logs if log.file in files}


def write_window(log: BenchLog, path: Path | None, folder: Path) -> LogWindow:
    """
    Write the window of a log to a folder; a file that is there stays.

    Parameters
    ----------
    path
        The file of the log; None for one that is bundled or generated.

    Raises
    ------
    ConfigError
        If the file is not the one of the set.
    RunError
        If the folder lacks the window of a log that the user brings, and no file is given.
    """
    window = LogWindow.of(log, folder)
    if window.path.exists():
        return window
    if log.generator:
        workload = Generated(generator=log.generator, options=tuple(log.options.items())).load()
    elif log.bundled:
        workload = read_log(shipped("logs", log.bundled))
    else:
        if path is None:
            raise RunError(f"{window.path}: is missing. Run cpsched bench again with --logs.")
        check_content(log, path)
        workload = read_log(path, skip_bad_lines=True)
    with replacing(window.path) as partial:
        write_log(workload.take(np.arange(*(log.rows or (len(workload),)))), partial)
    return window


def check_content(log: BenchLog, path: Path) -> None:
    """Raise a ``ConfigError`` unless a file is the log of the set."""
    digest = content_sha256(path)
    if digest != log.sha256:
        raise ConfigError(
            f"is another file than {log.name} of the set (SHA-256 of the unpacked log:"
            f" {digest[:12]}..., must be {log.sha256[:12]}...). Get it from {log.source}",
            where=path,
        )


def content_sha256(path: Path) -> str:
    """Return the SHA-256 of a log, unpacked if it is packed."""
    digest = hashlib.sha256()
    with opened(path) as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()
