"""A campaign's folder: finished and failed runs, and a lock for the process that works in it."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import warnings
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from cpsched.errors import RunError
from cpsched.simulation.identity import versions_here
from cpsched.study.folder import read_mark, recover, under_way
from cpsched.util.atomic_files import PARTIAL, open_lock, subfolder, write_all
from cpsched.util.documents import json_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from cpsched.study.run_spec import RunSpec
    from cpsched.study.study import Study

#: The file that makes a folder a campaign.
DESCRIPTION = "study.json"
#: Of campaign folders and the names in them; a reader refuses others.
FORMAT = 4
#: Folders in it: none is followed where it is a link.
_FOLDERS = ("runs", ".work", "failed", "damaged", "inputs", "policies", "tables", "figures")


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """
    A run that did not finish.

    Attributes
    ----------
    error
        One line.
    file
        File with the error and its traceback.
    """

    name: str
    error: str
    file: Path


class Store:
    """
    A campaign's folder.

    Parameters
    ----------
    folder
        Made if it is not there.

    Raises
    ------
    RunError
        If there is something else in it, or it cannot be made.
    """

    def __init__(self, folder: Path) -> None:
        if folder.exists() and not folder.is_dir():
            raise RunError(f"{folder} is a file. Name a folder")
        names = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
        # A campaign killed while writing its description leaves a partial file.
        names = {name for name in names if not name.startswith(PARTIAL)}
        if names and not _is_study(folder / DESCRIPTION):
            raise RunError(
                f"{folder} is not empty and is not a study folder. Name a study or a new folder."
            )
        for name in names.intersection(_FOLDERS):
            if (folder / name).is_symlink():
                raise RunError(f"{folder / name} is a link, which is not followed. Move it away")
        self.folder = folder
        self.runs, self.work, self.failed = (folder / name for name in ("runs", ".work", "failed"))
        #: Where incomplete run folders were moved.
        self.damaged: list[Path] = []
        try:
            if not names:
                folder.mkdir(parents=True, exist_ok=True)
                # Before anything else, so that a killed campaign knows the folder again.
                write_json(folder / DESCRIPTION, {"format": FORMAT, "baseline": {}, "runs": []})
            for made in (self.work, self.runs):
                subfolder(folder, made.name)
        except OSError as error:
            raise RunError(f"{folder} cannot be made: {error.strerror or error}") from error

    @contextmanager
    def locked(self) -> Iterator[None]:
        """
        Lock the folder, and remove what a killed campaign left.

        The lock ends with the process, however that ends.

        Raises
        ------
        RunError
            If another process is at work in the folder.
        """
        path = self.folder / ".lock"
        try:
            lock = open_lock(path)
        except OSError as error:
            raise RunError(f"{path} cannot be opened: {error.strerror or error}") from error
        try:
            # Without a lock, the files there may belong to another process.
            clear = self._clear if self._flocked(lock) else lambda: None
            clear()
            try:
                yield
            finally:
                clear()
        finally:
            os.close(lock)

    def _flocked(self, lock: int) -> bool:
        """Lock the folder; return False if its file system has no locks."""
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise RunError(
                f"{self.folder}: another process is carrying out a study there. Wait for it, or"
                " name another folder"
            ) from error
        except OSError as error:
            warnings.warn(
                f"{self.folder} cannot be locked ({error.strerror or error}): do not start another"
                " study there meanwhile",
                RuntimeWarning,
                stacklevel=4,
            )
            return False
        return True

    def _clear(self) -> None:
        for left in under_way(self.work):
            shutil.rmtree(left, ignore_errors=True)
        recover(self.runs)

    def finished(self, tasks: Iterable[RunSpec]) -> dict[str, Path]:
        """
        Return the folders of the existing runs, by key.

        A folder that does not identify its run, because files are missing or unreadable, is moved
        to ``damaged``: the run counts as missing.

        Raises
        ------
        RunError
            If a folder has a run's name but is another run.
        """
        by_key = {path.name.rpartition("-")[2]: path for path in self.runs.iterdir()}
        folders = {}
        for task in tasks:
            path = by_key.get(task.key)
            if path is None:
                continue
            identity = identity_of(path)
            if identity is None:
                self._set_aside(path)
            elif identity != task.identity:
                raise RunError(
                    f"{path} holds another run than its folder name states. Move or delete it"
                )
            else:
                folders[task.key] = path
        return folders

    def _set_aside(self, run: Path) -> None:
        folder = subfolder(self.folder, "damaged")
        target = folder / run.name
        if target.exists():
            target = folder / f"{run.name}-{uuid4().hex[:8]}"
        run.rename(target)
        self.damaged.append(target)

    def describe(self, study: Study, tasks: Iterable[RunSpec]) -> None:
        """Write what the study is and which runs belong to it."""
        content = {
            "format": FORMAT,
            "title": study.title,
            "question": study.question,
            "baseline": asdict(study.baseline),
            "by_group": study.by_group,
            "measure_from": study.measure_from,
            "ignore_recorded_waits": study.ignore_recorded_waits,
            "jitter": study.jitter,
            "versions": versions_here(),
            "study": asdict(study, dict_factory=_unpinned),
            "runs": [{"folder": task.name, **dict(task.labels)} for task in tasks],
        }
        write_json(self.folder / DESCRIPTION, content)

    def fail(self, task: RunSpec, error: str, trace: str | None) -> Failure:
        """Keep a run's error in a file."""
        subfolder(self.folder, self.failed.name)
        file = self.failed / f"{task.name}.json"
        content = {
            "run": task.name,
            **dict(task.labels),
            "error": error,
            "trace": (trace or "").splitlines(),
        }
        write_json(file, content)
        return Failure(name=task.name, error=error, file=file)

    def succeed(self, task: RunSpec) -> None:
        """Remove the record of an earlier failure."""
        (self.failed / f"{task.name}.json").unlink(missing_ok=True)


def _is_study(path: Path) -> bool:
    """Return whether a file describes a study, of whichever version."""
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(about, dict) and {"format", "runs"} <= about.keys()


def _unpinned(values: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return the values of a study without what only runs pin."""
    return {key: value for key, value in values if key not in ("digest", "version")}


def identity_of(run: Path) -> str | None:
    """Return the identity recorded in a run folder, None if there is none."""
    arguments = read_mark(run).get("arguments")
    identity = arguments.get("identity") if isinstance(arguments, dict) else None
    return identity if isinstance(identity, str) else None


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a file in one step."""
    text = json_text(content, indent=1, default=str) + "\n"
    try:
        write_all(path.parent, {path.name: text.encode()})
    except OSError as error:
        raise RunError(f"{path} cannot be written: {error.strerror or error}") from error
