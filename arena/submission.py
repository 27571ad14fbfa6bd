"""
Who enters: a dispatcher, a predictor or both, by specification or as a folder of code.

A folder has ``entry.toml``::

    name = "Mine"
    dispatcher = "my_package:Mine:model={model}"   # and/or predictor = "..."
    train = ["python", "train.py", "{before}", "{model}"]
    lock = "lock.txt"

Its code is found there. ``train`` is run once for each log that has earlier jobs, in a folder that
holds nothing else; ``{before}`` is a file of them, ``{model}`` the file that it writes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from importlib.metadata import distributions
from typing import TYPE_CHECKING, Self

from cpsched.api.errors import ConfigError, RunError
from cpsched.api.fields import Section
from cpsched.api.tools import read_text

if TYPE_CHECKING:
    from pathlib import Path

ENTRY, LOCK = "entry.toml", "lock.txt"
_MODEL, _BEFORE = "{model}", "{before}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """
    An entry.

    Attributes
    ----------
    dispatcher, predictor
        Specifications; empty: none of its own. ``{model}`` in them is what it has learnt.
    train
        The command that learns; empty: nothing is learnt before the window.
    code
        The folder of its code; None: installed.
    lock
        Versions of the distributions that it was made with, ``name==version``.
    """

    name: str
    dispatcher: str = ""
    predictor: str = ""
    train: tuple[str, ...] = ()
    code: Path | None = None
    lock: tuple[str, ...] = ()

    @classmethod
    def load(cls, folder: Path) -> Self:
        """
        Read a folder's ``entry.toml``.

        Raises
        ------
        ConfigError
            If there is none, or it does not describe an entry.
        """
        path = folder / ENTRY
        section = Section.of_text(read_text(path), str(path))
        section.expect("name", "dispatcher", "predictor", "train", "lock")
        found = cls(
            name=section.text("name"),
            dispatcher=section.text("dispatcher", ""),
            predictor=section.text("predictor", ""),
            train=tuple(section.plain("train") or ()),
            code=folder.absolute(),
            lock=_lines(folder / section.text("lock", LOCK)),
        )
        if not (found.dispatcher or found.predictor):
            raise section.error("dispatcher", "is missing; give a dispatcher, a predictor or both")
        if not all(isinstance(word, str) for word in found.train):
            raise section.error("train", "must be a list of words, as a command line has them")
        learns = _MODEL in found.dispatcher + found.predictor
        if learns != bool(found.train):
            raise section.error("train", "goes with {model} in the dispatcher or the predictor")
        return found

    def environment(self) -> dict[str, str]:
        """Return the environment of its processes, in which its code is found."""
        there = [str(self.code)] if self.code else []
        path = os.pathsep.join([*there, *filter(None, [os.environ.get("PYTHONPATH")])])
        return {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}

    def trained(self, folder: Path, before: Path | None, model: str) -> Self:
        """
        Return the entry with what it learns from the jobs before a window.

        Parameters
        ----------
        folder
            Where it learns.
        before
            The earlier jobs; None: there are none, so the model's name stands for no file.
        model
            Name of the file that it writes there.

        Raises
        ------
        RunError
            If the command fails, or writes no model.
        """
        if not self.train:
            return self
        target = folder / model
        if before is not None and not target.exists():
            words = [word.replace(_MODEL, str(target)).replace(_BEFORE, str(before))
                     for word in self.train]  # fmt: skip
            program = sys.executable if words[0] in ("python", "python3") else words[0]
            if shutil.which(program) is None:
                raise RunError(f"{self.name}: '{words[0]}' is no program here")
            if self.code is not None:
                words = [str(self.code / word) if (self.code / word).is_file() else word
                         for word in words]  # fmt: skip
            done = subprocess.run(  # noqa: S603
                [program, *words[1:]], cwd=folder, env=self.environment(), capture_output=True,
                text=True, check=False,
            )  # fmt: skip
            if done.returncode or not target.exists():
                reason = (done.stderr.strip() or "it writes no model").splitlines()[-1]
                raise RunError(f"{self.name}: training fails: {reason}")
        named = {key: getattr(self, key).replace(_MODEL, str(target))
                 for key in ("dispatcher", "predictor")}  # fmt: skip
        return replace(self, **named)

    def unlike(self) -> list[str]:
        """Return how what is installed differs from its lock file."""
        here = dict(one.split("==", 1) for one in installed())
        found = []
        for line in self.lock:
            name, _, version = line.partition("==")
            if here.get(name) != version:
                found.append(f"{name} is {here.get(name, 'missing')}, {version} in the lock file")
        return found


def installed() -> tuple[str, ...]:
    """Return the distributions of this environment, ``name==version``, sorted."""
    return tuple(sorted({
        f"{one.metadata['Name'].lower().replace('_', '-')}=={one.version}"
        for one in distributions()
    }))  # fmt: skip


def _lines(path: Path) -> tuple[str, ...]:
    """Return the lines of a lock file, without comments; none if there is no such file."""
    if not path.exists():
        return ()
    lines = (line.partition("#")[0].strip() for line in read_text(path).splitlines())
    found = tuple(line.replace("_", "-") for line in lines if line)
    wrong = next((line for line in found if "==" not in line), None)
    if wrong is not None:
        raise ConfigError(f"'{wrong}' must be name==version", where=path)
    return found
