"""The versions of what can change a schedule or the files of a run."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

_LIBRARIES = ("numpy", "numba", "pyarrow", "ortools", "scikit-learn")
#: Used where they are installed.
_EXTRAS = ("lightgbm",)


def versions() -> dict[str, str]:
    """Return the versions of cpsched, Python and the libraries that results depend on."""
    found = {"cpsched": version("cpsched"), "python": platform.python_version()}
    found |= {library: version(library) for library in _LIBRARIES}
    for library in _EXTRAS:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            continue
    return found
