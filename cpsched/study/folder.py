"""Folders that appear complete or not at all."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING

from cpsched.errors import RunError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: The file that makes a folder a run.
MARK = "run.json"


def check_target(folder: Path, *, overwrite: bool) -> None:
    """
    Say early whether a run can be written to a folder.

    Raises
    ------
    RunError
        If it exists and ``overwrite`` is off, or if it exists and is no run: what is not ours is
        never replaced.
    """
    if not folder.exists():
        parent = next(path for path in folder.absolute().parents if path.exists())
        if not parent.is_dir() or not os.access(parent, os.W_OK):
            raise RunError(f"{folder} cannot be made: {parent} is no folder that can be written to")
        return
    if not folder.is_dir():
        raise RunError(f"{folder} is a file; name a folder that does not exist")
    if not any(folder.iterdir()):
        return
    if not overwrite:
        raise RunError(f"{folder} exists; name another folder, or add --overwrite")
    if not (folder / MARK).is_file():
        raise RunError(f"{folder} is not a run, so --overwrite does not replace it")


@contextmanager
def appearing(folder: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """
    Give a folder to fill, which takes its real name when the block ends without an error.

    Until then it is called ``NAME.partial``; one left behind by a killed run is cleared.
    """
    check_target(folder, overwrite=overwrite)
    partial = folder.with_name(folder.name + ".partial")
    if partial.exists():
        shutil.rmtree(partial)
    partial.mkdir(parents=True)
    try:
        yield partial
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    old = folder.with_name(folder.name + ".old")
    if folder.exists():
        folder.rename(old)
    partial.rename(folder)
    if old.exists():
        shutil.rmtree(old)


def find_runs(folder: Path) -> list[Path]:
    """
    Return a run, or the runs in a folder, sorted by name.

    Raises
    ------
    RunError
        If there is none.
    """
    if (folder / MARK).is_file():
        return [folder]
    found = sorted(mark.parent for mark in folder.glob(f"*/{MARK}"))
    if not found:
        raise RunError(f"{folder} is no run and holds none: there is no {MARK}")
    return found
