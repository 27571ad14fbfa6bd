"""Folders that appear complete or not at all, and rules for replacing and naming them."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from cpsched.errors import RunError
from cpsched.simulation.identity import file_digest
from cpsched.util.atomic_files import PARTIAL, sync

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

#: The file that makes a folder a run; it names the run's other files and their SHA-256.
MARK = "run.json"
#: The run's cost; the only file that differs between equal runs.
TIMING = "timing.json"
#: What is read of a run besides.
CONTENT = (
    *("workload.parquet", "system.json", "metrics.json", "outages.parquet"),
    *("jobs.parquet", "allocations.parquet", "queue.parquet"),
)
#: The name of a run under way; nothing else is removed from a study's folder.
_UNDER_WAY = re.compile(r"[0-9a-f]+-[0-9a-f]{32}")
#: What the name of a run ends in while it is replaced, and the whole name.
_OLD = ".old"
_REPLACED = re.compile(rf"{re.escape(PARTIAL)}[0-9a-f]{{32}}-(.+){re.escape(_OLD)}", re.DOTALL)


def check_target(folder: Path, *, overwrite: bool) -> None:
    """
    Check early whether a run can be written to a folder.

    Raises
    ------
    RunError
        If it exists and ``overwrite`` is off, or if it exists and is not a run: other folders are
        never replaced.
    """
    folder = folder.resolve()
    recover(folder.parent, folder.name)
    if not folder.exists():
        parent = next(path for path in folder.parents if path.exists())
        if not parent.is_dir() or not os.access(parent, os.W_OK):
            raise RunError(f"{folder} cannot be made: {parent} is not a writable folder")
        return
    if not folder.is_dir():
        raise RunError(f"{folder} is a file. Name a folder that does not exist")
    if not any(folder.iterdir()):
        return
    if not overwrite:
        raise RunError(f"{folder} exists. Name another folder, or add --force")
    if files_of_run(folder) is None:
        raise RunError(f"{folder} is not a run, so --force does not replace it")


@contextmanager
def appearing(folder: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """
    Give a folder to fill, which takes its real name when the block ends without an error.

    Until then it is beside its final place, under a unique name.
    """
    folder = folder.resolve()
    check_target(folder, overwrite=overwrite)
    partial = folder.with_name(f"{PARTIAL}{uuid4().hex}-{folder.name}")
    partial.mkdir(parents=True)
    try:
        yield partial
        put_in_place(partial, folder, overwrite=overwrite)
    finally:
        # Not there any more if all went well.
        shutil.rmtree(partial, ignore_errors=True)


def put_in_place(made: Path, folder: Path, *, overwrite: bool) -> None:
    """
    Rename a finished run to its final name.

    It is there whole or not at all. A run that it replaces is renamed first, to a name from which
    :func:`recover` gives it back if this process is killed before the new one has its name. It
    loses its own files; other files in its folder are kept.

    Raises
    ------
    RunError
        If another process has made the folder meanwhile.
    """
    for path in (*made.iterdir(), made):
        sync(path)
    old = folder.with_name(f"{PARTIAL}{uuid4().hex}-{folder.name}{_OLD}")
    replaced = overwrite and _is_here(folder)
    if replaced:
        folder.rename(old)
    try:
        made.rename(folder)
    except OSError as error:
        recover(folder.parent, folder.name)
        raise RunError(f"{folder} was made by another process meanwhile") from error
    sync(folder.parent)
    if replaced:
        _merge(old, folder)


def recover(parent: Path, name: str | None = None) -> None:
    """Finish what a process left that was killed while it replaced a run (any where None)."""
    for old, folder in _replaced(parent, name):
        if folder.exists():
            _merge(old, folder)
        else:
            old.rename(folder)


def _replaced(parent: Path, name: str | None) -> list[tuple[Path, Path]]:
    """Return runs that were to be replaced, and the folders that they had or have."""
    paths = sorted(parent.iterdir()) if parent.is_dir() else []
    named = [(path, _REPLACED.fullmatch(path.name)) for path in paths]
    runs = [(path, parent / match[1]) for path, match in named if match and _is_here(path)]
    return [(old, folder) for old, folder in runs if name in (None, folder.name)]


def _is_here(folder: Path) -> bool:
    """Return whether a folder is a run; what a link points to is somewhere else."""
    return not folder.is_symlink() and files_of_run(folder) is not None


def _merge(old: Path, folder: Path) -> None:
    """Remove a replaced run, but for files that are not its own: those move to the new one."""
    ours = {MARK, TIMING, *(files_of_run(old) or {})}
    for path in old.iterdir():
        if path.name not in ours and not (folder / path.name).exists():
            path.rename(folder / path.name)
    shutil.rmtree(old)


def begin(work: Path, key: str, campaign: str) -> Path:
    """Make a folder for a run under way, which stays where its process is killed."""
    folder = work / f"{key}-{campaign}{uuid4().hex[len(campaign) :]}"
    folder.mkdir()
    return folder


def under_way(work: Path, key: str = "", campaign: str = "") -> list[Path]:
    """Return the folders that :func:`begin` has made, of a run and a campaign where named."""
    start = f"{key}-{campaign}" if key else ""
    names = (path for path in work.iterdir() if path.name.startswith(start))
    return [path for path in names if _UNDER_WAY.fullmatch(path.name)]


def read_mark(folder: Path) -> dict[str, Any]:
    """Return the description in a run folder, empty if it cannot be read."""
    try:
        about = json.loads((folder / MARK).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return about if isinstance(about, dict) else {}


def files_of_run(folder: Path) -> dict[str, str] | None:
    """Return the SHA-256 of a run's files by name, as its mark says; None if it has none."""
    files = read_mark(folder).get("files")
    if not isinstance(files, dict):
        return None
    return {str(name): str(digest) for name, digest in files.items()}


def digests_of(folder: Path) -> dict[str, str]:
    """Return the SHA-256 (hex) of each file of a run by name, except the mark and the timing."""
    files = [path for path in sorted(folder.iterdir()) if path.is_file()]
    return {path.name: file_digest(path) for path in files if path.name not in (MARK, TIMING)}


def faults(folder: Path, names: Collection[str] | None = None) -> Iterator[tuple[str, str]]:
    """
    Yield which files of a run are not as they were written, and what is wrong; none is read.

    Parameters
    ----------
    names
        Of the files that are looked at; None: all that the run has, or names as its own.
    """
    written = files_of_run(folder) or {}
    here = {path.name: path for path in folder.iterdir() if path.is_file()}
    for name in sorted({*written, *CONTENT} if names is None else names):
        if name not in here and (name in written or names is not None):
            yield name, "is missing: the run is incomplete"
        elif name in here and file_digest(here[name]) != written.get(name):
            yield name, f"is damaged: it was changed after it was written (SHA-256, see {MARK})"


def is_complete_copy(folder: Path, made: Path) -> bool:
    """Return whether a folder holds the very run that was made, but for its timing, undamaged."""
    same = _is_here(folder) and read_mark(folder) == read_mark(made)
    return same and not any(faults(folder))


def find_runs(folder: Path) -> list[Path]:
    """
    Return a run, or the runs in a folder or in a study's folder, sorted by name.

    Raises
    ------
    RunError
        If there is none.
    """
    if (folder / MARK).is_file():
        return [folder]
    for pattern in (f"runs/*/{MARK}", f"*/{MARK}"):
        runs = [mark.parent for mark in folder.glob(pattern)]
        runs = sorted(path for path in runs if not path.name.startswith("."))
        if runs:
            return runs
    resolved = folder.resolve()
    hint = "".join(
        f". A process that was killed while it replaced it left the old run in {old}"
        for old, _ in _replaced(resolved.parent, resolved.name)
    )
    raise RunError(f"{folder} is not a folder of runs ({MARK} is missing){hint}")


def unmarked_runs(folder: Path) -> list[Path]:
    """Return the runs in a study's folder, or a folder of runs, whose :data:`MARK` is missing."""
    parents = [folder / "runs", folder]
    folders = sorted({path for parent in parents for path in parent.glob("*") if path.is_dir()})
    return [
        path
        for path in folders
        if not path.name.startswith(".")
        and not (path / MARK).exists()
        and any((path / name).is_file() for name in CONTENT)
    ]


_LONGEST = 90


def plain(text: str) -> str:
    """Return text as letters, digits, ``+`` and hyphens; different texts may become the same."""
    return re.sub(r"[^a-z0-9+]+", "-", text.lower()).strip("-")[:_LONGEST].strip("-")


def slug(text: str) -> str:
    """
    Return text as a file name, or an identifier, that is unique to it.

    Six digits of a hash are added if characters other than spaces were removed.
    """
    name = plain(text)
    if name == text.lower().replace(" ", "-"):
        return name
    return f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:6]}"
