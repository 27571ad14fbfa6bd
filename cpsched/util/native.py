"""The native core: whether it is compiled, and from the sources that lie here."""

from __future__ import annotations

import hashlib
import importlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from cpsched.errors import ConfigError

if TYPE_CHECKING:
    from types import ModuleType

_ROOT = Path(__file__).resolve().parents[2]
_BUILD = "run 'make core' in its folder, or 'pip install' again"


@cache
def load_core() -> ModuleType:
    """
    Return the module ``cpsched._core``.

    Raises
    ------
    ConfigError
        If it is not compiled, or if a source in this checkout has changed since.
    """
    try:
        core = importlib.import_module("cpsched._core")
    except ImportError as error:
        raise ConfigError(
            f"the native core of cpsched cannot be loaded ({error}): {_BUILD}"
        ) from error
    expected = source_hash(_ROOT)
    if expected not in (None, core.SOURCE_HASH):
        raise ConfigError(
            f"the native core of cpsched was compiled from other sources than {_ROOT} has: {_BUILD}"
        )
    return core


def source_hash(root: Path) -> str | None:
    """
    Return the hash of the core's sources in a checkout, as ``cpsched/cpp/source_hash.cmake`` does.

    None if ``root`` has no such sources, as where a wheel is installed.
    """
    build = root / "CMakeLists.txt"
    folder = root / "cpsched" / "cpp"
    if not build.is_file() or not folder.is_dir():
        return None
    files = [file for file in folder.rglob("*") if file.suffix in (".cpp", ".h", ".cmake")]
    by_name = {file.relative_to(root).as_posix(): file for file in [build, *files]}
    lines = [
        f"{hashlib.sha256(file.read_bytes()).hexdigest()} {name}\n"
        for name, file in sorted(by_name.items())
    ]
    return hashlib.sha256("".join(lines).encode()).hexdigest()
