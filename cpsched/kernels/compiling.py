"""
How the kernels are compiled, and where the compiled ones are kept.

numba's cache does not notice a changed callee in another file, so the cache folder is keyed by the
text of every file of this package and of :mod:`cpsched.model.columns`. The kernels of another
package call these and their own: their key has besides the text of all files with kernels in the
folder of their module, which are those that import from here. So a package keeps kernels that call
each other in one folder.

numba unpickles what it finds in a cache folder, so one that another user may have filled is never
used. A process looks once: whoever could put another folder in its place later could do so before,
and then the folder is not used.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numba
from numba import njit

from cpsched.kernels.linking import AS_A_KERNEL, keep_in

if TYPE_CHECKING:
    from collections.abc import Callable

_HERE = Path(__file__).parent


@cache
def cache_folder(sources: Path) -> str | None:
    """
    Return where the compiled kernels of a folder of sources are kept.

    None if they must be compiled anew each time. It is in ``NUMBA_CACHE_DIR``; without that in the
    user's cache folder, or in a folder below the temporary one; always only if nobody else can
    write there, or put something in its place.
    """
    key = key_of(sources)
    given = os.environ.get("NUMBA_CACHE_DIR")
    if given:
        parents = [Path(given).absolute() / "cpsched"]
    else:
        private = Path(tempfile.gettempdir(), f"cpsched-{os.getuid()}")
        parents = [parent for parent in (_user_cache(), private) if parent is not None]
    for parent in parents:
        if _is_private(parent) and _is_private(parent / key):
            return str(parent / key)
    return None


def key_of(sources: Path) -> str:
    """Return a name for the present text of the kernels of a folder, and of these."""
    texts = [source.read_bytes() for source in sorted(_HERE.glob("*.py"))]
    texts.append((_HERE.parent / "model" / "columns.py").read_bytes())
    if sources != _HERE:
        others = (source.read_bytes() for source in sorted(sources.glob("*.py")))
        texts.extend(text for text in others if b"from cpsched" in text)
    key = hashlib.sha256(b"".join(texts))
    key.update(numba.__version__.encode())
    return key.hexdigest()[:16]


def _user_cache() -> Path | None:
    """Return our folder in the user's cache, or None for a user without a home."""
    given = os.environ.get("XDG_CACHE_HOME")
    if given:
        return Path(given) / "cpsched"
    try:
        return Path.home() / ".cache" / "cpsched"
    except RuntimeError:
        return None


def _is_private(folder: Path) -> bool:
    """
    Return whether a folder is ours and only we can write to it, making it if there is none.

    Nobody else may be able to replace it, or a folder that it is in, either: those belong to us or
    to the system, and others can write to one only where the sticky bit keeps them from renaming
    what is not theirs.
    """
    try:
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        found, whole = folder.lstat(), folder.resolve()
    except (OSError, RuntimeError):
        return False
    is_ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
    return (
        is_ours
        and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        and not any(map(_lets_replace, whole.parents))
        and os.access(folder, os.W_OK)
    )


def _lets_replace(folder: Path) -> bool:
    """Return whether somebody else can rename what is in a folder."""
    found = folder.stat()
    # In a container the system's user may have another number.
    is_trusted = found.st_uid in (0, os.getuid(), Path("/").stat().st_uid)
    return not is_trusted or bool(found.st_mode & stat.S_IWOTH and not found.st_mode & stat.S_ISVTX)


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """
    Compile a function on first use and keep it on disk, in our own folder only.

    For any package: what it keeps is compiled anew when the kernels of its folder or these change.
    """
    compiled: Any = njit(**AS_A_KERNEL)(function)
    folder = cache_folder(Path(function.__code__.co_filename).parent)
    if folder is not None:
        keep_in(folder, compiled)
    return compiled  # type: ignore[no-any-return]
