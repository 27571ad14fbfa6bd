"""
Who enters: a dispatcher, a predictor or both, by specification or as a folder of code.

A folder has ``entry.toml``::

    name = "Mine"
    dispatcher = "my_package:Mine:model={model}"   # and/or predictor = "..."
    train = ["python", "train.py", "{before}", "{model}"]

Its code is found there. ``train`` is run once for each log that has earlier jobs, in a folder that
holds nothing else; ``{before}`` is a file of them, ``{model}`` the file that it writes.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Self

from cpsched.errors import RunError
from cpsched.util.documents import read_text
from cpsched.util.toml_section import Section

ENTRY = "entry.toml"
_MODEL, _BEFORE = "{model}", "{before}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchEntry:
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
    """

    name: str
    dispatcher: str = ""
    predictor: str = ""
    train: tuple[str, ...] = ()
    code: Path | None = None

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
        section.expect("name", "dispatcher", "predictor", "train")
        entry = cls(
            name=section.text("name"),
            dispatcher=section.text("dispatcher", ""),
            predictor=section.text("predictor", ""),
            train=tuple(section.plain("train") or ()),
            code=folder.absolute(),
        )
        if not (entry.dispatcher or entry.predictor):
            raise section.error("dispatcher", "is missing; give a dispatcher, a predictor or both")
        if not all(isinstance(word, str) for word in entry.train):
            raise section.error("train", "must be a list of words, as a command line has them")
        learns = _MODEL in entry.dispatcher + entry.predictor
        if learns != bool(entry.train):
            raise section.error("train", "goes with {model} in the dispatcher or the predictor")
        return entry

    def digest(self) -> str:
        """Return twelve digits that stand for its code and its command."""
        sha = sha256(repr(self.train).encode())
        for path in sorted(self.code.rglob("*")) if self.code else ():
            if path.is_file() and path.suffix != ".pyc":
                sha.update(path.name.encode() + path.read_bytes())
        return sha.hexdigest()[:12]

    def modules(self) -> dict[str, str]:
        """Return a digest of each module or package of its code, but for scripts that train."""
        if self.code is None:
            return {}
        digests = {}
        for path in sorted(self.code.iterdir()):
            files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
            files = [file for file in files if file.suffix == ".py"]
            if files and path.name not in self.train and path.stem.isidentifier():
                content = [str(file.relative_to(self.code)).encode() + b"\0" + file.read_bytes()
                           for file in files]  # fmt: skip
                digests[path.stem] = sha256(b"\0".join(content)).hexdigest()
        return digests

    def copied(self, folder: Path) -> Self:
        """Return the entry with its code copied into a folder, from where it is run."""
        if self.code is None or self.code.parent == folder:
            return self
        target = folder / re.sub(r"\W+", "-", self.name)
        if target.exists():
            shutil.rmtree(target)
        ignored = shutil.ignore_patterns("__pycache__", ".*", "*.pyc")
        shutil.copytree(self.code, target, ignore=ignored)
        return replace(self, code=target)

    def environment(self) -> dict[str, str]:
        """Return the environment of its processes, in which its code is found."""
        own = [str(self.code)] if self.code else []
        given = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
        # They are run in folders of their own.
        path = os.pathsep.join([*own, *(str(Path(folder).absolute()) for folder in given)])
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
