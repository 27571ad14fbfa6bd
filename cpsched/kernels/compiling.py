"""
How the kernels are compiled, and where the compiled ones are kept.

numba's cache does not notice a changed callee in another file, so the cache folder is keyed by the
text of every file of this package and of :mod:`cpsched.model.columns`.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numba
from numba import njit
from numba.core.caching import FunctionCache

if TYPE_CHECKING:
    from collections.abc import Callable

#: Whether numba is one whose insides are known here; with any other, kernels are compiled and kept
#: as numba does it, which takes longer.
IS_TRIED = numba.__version__.startswith("0.68.")


def _cache_folder() -> str | None:
    """Return where compiled kernels are kept, or None if nothing can be written."""
    here = Path(__file__).parent
    sources = (*sorted(here.glob("*.py")), here.parent / "model" / "columns.py")
    key = hashlib.sha256(b"".join(source.read_bytes() for source in sources))
    key.update(numba.__version__.encode())
    for base in (_user_cache(), Path(tempfile.gettempdir())):
        if base is None:
            continue
        folder = base / "cpsched" / key.hexdigest()[:16]
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return str(folder)
    return None


def _user_cache() -> Path | None:
    """Return the user's cache folder, or None for a user without a home."""
    given = os.environ.get("XDG_CACHE_HOME")
    if given:
        return Path(given)
    try:
        return Path.home() / ".cache"
    except RuntimeError:
        return None


_FOLDER = _cache_folder()


class _Cache(FunctionCache):
    """
    Kernels on disk, loaded without making the compiler ready.

    numba teaches its compiler every function it knows before it loads a compiled one, which takes
    longer than all the loading. A compiled kernel needs the runtime alone; what has to be compiled
    makes the compiler ready itself.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return what was compiled for a signature, None if there is nothing."""
        from numba.core.runtime.nrt import rtsys

        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function on first use and keep it on disk, in our own folder only."""
    compiled: Any = njit(function)
    if _FOLDER is not None:
        settings: Any = numba.config
        before = settings.CACHE_DIR
        settings.CACHE_DIR = _FOLDER
        try:
            compiled._cache = (_Cache if IS_TRIED else FunctionCache)(function)
        finally:
            settings.CACHE_DIR = before
    return compiled  # type: ignore[no-any-return]
