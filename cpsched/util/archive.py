"""
Nested state in archives of arrays (``.npz``), without pickle.

Arrays are members under the keys that lead to them, everything else is JSON in one member.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path

    from cpsched.util.types import AnyArray


def read_arrays(
    path: Path,
    limit: int | None = None,
    only: Collection[str] | None = None,
    keep: Callable[[AnyArray], Any] = lambda array: array,
) -> dict[str, Any]:
    """
    Return the arrays of an archive by name.

    Parameters
    ----------
    limit
        The most bytes it may hold unpacked; the file's own size where None, for archives that
        are not compressed.
    only
        Names of the arrays to read; all where None.
    keep
        What is kept of each array, before the next is read.

    Raises
    ------
    ValueError
        If it is not an archive of arrays, is damaged, or holds more; on one line.
    OSError
        If it cannot be read.
    """
    with path.open("rb") as opened:
        try:
            with zipfile.ZipFile(opened) as archive:
                size = sum(entry.file_size for entry in archive.infolist())
            max_bytes = path.stat().st_size if limit is None else limit
            if size > max_bytes:
                raise ValueError(
                    f"the archive holds {size:,} bytes, and at most {max_bytes:,} are expected"
                )
            opened.seek(0)
            # np.load leaves a file open if it cannot read it.
            with np.load(opened, allow_pickle=False) as file:
                names = file.files if only is None else only
                return {name: keep(file[name]) for name in names}
        except OSError:
            raise
        except Exception as error:
            # A damaged member or a malformed header raises almost anything: zlib.error, KeyError,
            # SyntaxError, MemoryError, tokenize.TokenError, ...
            reason = str(error).partition("\n")[0] or type(error).__name__
            raise ValueError(reason) from error


def flattened(nested: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """
    Return the arrays of nested mappings, and everything else in them, by the keys that lead there.

    Keys are joined by slashes, so none may hold one; an empty mapping leaves nothing.
    """
    arrays: dict[str, Any] = {}
    plain: dict[str, Any] = {}
    for key, item in nested.items():
        if isinstance(item, Mapping):
            for below, part in zip((arrays, plain), flattened(item), strict=True):
                below |= {f"{key}/{name}": value for name, value in part.items()}
        elif isinstance(item, np.ndarray):
            arrays[key] = item
        else:
            plain[key] = item
    return arrays, plain


def unflattened(flat: Mapping[str, Any], *always: str) -> dict[str, Any]:
    """Return what was flattened; mappings named in ``always`` are there though they were empty."""
    nested: dict[str, Any] = {name: {} for name in always}
    for name, value in flat.items():
        level = nested
        *parents, last = name.split("/")
        for parent in parents:
            level = level.setdefault(parent, {})
        level[last] = value
    return nested
