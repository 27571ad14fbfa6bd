"""The versions of what can change a schedule or the files of a run."""

from __future__ import annotations

import platform
from importlib.metadata import version

_LIBRARIES = ("numpy", "pyarrow", "ortools", "scikit-learn")


def versions() -> dict[str, str]:
    """Return the versions of cpsched, Python and the libraries that results depend on."""
    releases = {"cpsched": version("cpsched"), "python": platform.python_version()}
    return releases | {library: version(library) for library in _LIBRARIES}
