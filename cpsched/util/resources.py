"""Where the files that come with cpsched are found, installed or in a checkout."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent


def path(*parts: str) -> Path:
    """
    Return the path of a file or folder shipped with cpsched.

    In a wheel the data lies inside the package (``cpsched/_data``); in a checkout it is ``data/``
    at the top. The path is returned whether it exists or not.
    """
    packaged = _PACKAGE / "_data"
    root = packaged if packaged.is_dir() else _PACKAGE.parent / "data"
    return root.joinpath(*parts)
