"""
Machines by name: the shipped ones, and any TOML file in the same format.

The format is described in ``docs/reference/system-files.md``. Every key is checked; an unknown one
is an error that names the file, the key and the closest known one. Other formats are registered by
file name suffix under ``cpsched.system_files``; AccaSim's JSON is one of them.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from cpsched import registry, resources
from cpsched.errors import ConfigError, UnknownNameError
from cpsched.systems.parser import parse

if TYPE_CHECKING:
    from cpsched.model.system import System

__all__ = ["load", "names", "parse"]


def names() -> list[str]:
    """Return the names of the machines that come with cpsched, sorted."""
    return sorted(file.stem for file in resources.path("systems").glob("*.toml"))


def load(name_or_path: str | Path) -> System:
    """
    Return a machine.

    Parameters
    ----------
    name_or_path
        A shipped machine's name (``eurora``), or the path of a file: a ``Path``, or text that
        ends in ``.toml`` or a registered suffix (``.json``), or contains a path separator.

    Raises
    ------
    UnknownNameError
        If no shipped machine has that name; the message lists them.
    ConfigError
        If the file cannot be read or does not describe a machine.
    """
    file = Path(name_or_path)
    if not _is_path(name_or_path):
        known = names()
        if name_or_path not in known:
            raise UnknownNameError("system", str(name_or_path), known)
        file = resources.path("systems", f"{name_or_path}.toml")
    suffix = file.suffix.lstrip(".")
    is_registered = suffix in registry.names("system_files")
    reader = registry.load("system_files", suffix) if is_registered else parse
    system: System = reader(_read(file), where=str(file), name=file.stem)
    return system


def _is_path(name_or_path: str | Path) -> bool:
    if isinstance(name_or_path, Path):
        return True
    separators = [separator for separator in (os.sep, os.altsep) if separator]
    suffixes = [f".{name}" for name in ("toml", *registry.names("system_files"))]
    return any(mark in name_or_path for mark in separators) or name_or_path.endswith(
        tuple(suffixes)
    )


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror or error}", where=file) from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"is not UTF-8 text (byte {error.start})", where=file) from error
