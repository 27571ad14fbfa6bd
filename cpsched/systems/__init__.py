"""
Machines by name: the shipped ones, and any TOML file in the same format.

The format is described in ``docs/reference/system-file.md``. Every key is checked; an unknown one
is an error that names the file, the key and the closest known one. Other formats are registered by
file name suffix under ``cpsched.system_files``; AccaSim's JSON is one of them.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from cpsched.errors import ConfigError, UnknownNameError
from cpsched.model.system import System
from cpsched.util import registry, resources
from cpsched.util.atomic_files import replacing
from cpsched.util.documents import read_json, read_text

__all__ = ["load", "names", "parse", "save"]


def names() -> list[str]:
    """Return the names of the machines that come with cpsched, sorted."""
    return sorted(file.stem for file in resources.path("systems").glob("*.toml"))


def load(name_or_path: str | Path) -> System:
    """
    Return a system by its name or file.

    Parameters
    ----------
    name_or_path
        Name of a bundled system (``eurora``), or the path of a file: a ``Path``, or text that ends
        in ``.toml`` or a registered suffix (``.json``), or contains a path separator.

    Raises
    ------
    UnknownNameError
        If no bundled system has that name. The message lists them.
    ConfigError
        If the file cannot be read or does not describe a system.
    """
    file = Path(name_or_path)
    if not _is_path(name_or_path):
        known = names()
        if name_or_path not in known:
            if (here := Path(f"{name_or_path}.toml")).is_file():
                raise ConfigError(f"unknown system '{name_or_path}'. Did you mean ./{here}?")
            raise UnknownNameError("system", str(name_or_path), known)
        file = resources.path("systems", f"{name_or_path}.toml")
    text, suffix = read_text(file), file.suffix.lstrip(".")
    if suffix == "json" and (saved := _saved(text, file)) is not None:
        return saved
    known = registry.names("system_files")
    reader = registry.load("system_files", suffix if suffix in known else "toml")
    system: System = reader(text, where=str(file), name=file.stem)
    return system


def parse(text: str, *, where: str = "system", name: str = "system") -> System:
    """
    Return the system that the text of a system file describes.

    Parameters
    ----------
    text
        TOML, in the format of ``docs/reference/system-file.md``.
    where
        The file, for messages.
    name
        Name of the system if the text has none.

    Raises
    ------
    ConfigError
        If the text is not TOML, or a key is unknown, missing or invalid.
    """
    from cpsched.systems.parser import SystemFile
    from cpsched.util.models import Source

    source = Source.of_toml(text, where)
    with source.blamed():
        return source.read(SystemFile, resources=()).system(name, source.folder)


def save(system: System, path: str | Path) -> None:
    """
    Write a system as JSON, as in run folders. :func:`load` reads it.

    Raises
    ------
    ConfigError
        If the name does not end in ``.json``, or the file cannot be written.
    """
    path = Path(path)
    if path.suffix != ".json":
        raise ConfigError("must end in .json", where=path)
    try:
        with replacing(path) as partial:
            partial.write_text(json.dumps(system.to_dict(), indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"cannot be written: {error.strerror or error}", where=path) from error


def _saved(text: str, file: Path) -> System | None:
    """Return the machine of a run; None if it is another kind of JSON."""
    try:
        content = read_json(text)
    except ValueError as error:
        raise ConfigError(str(error), where=file) from error
    if not isinstance(content, dict) or "nodes" not in content:
        return None
    try:
        return System.from_dict(content)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        reason = " ".join(str(error).split())
        raise ConfigError(f"is not the system of a run ({reason})", where=file) from error


def _is_path(name_or_path: str | Path) -> bool:
    if isinstance(name_or_path, Path):
        return True
    separators = [separator for separator in (os.sep, os.altsep) if separator]
    suffixes = [f".{name}" for name in registry.names("system_files")]
    return any(mark in name_or_path for mark in separators) or name_or_path.endswith(
        tuple(suffixes)
    )
