"""
A simulation's state as arrays: a killed one continues from it to the identical result.

Nothing is pickled. Strings, shapes and everything else that follows from the workload is rebuilt
from it; a checkpoint only fits its own run, and is refused by others.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.errors import RunError
from cpsched.model.arrays import put_away
from cpsched.util.archive import flattened, read_arrays, unflattened
from cpsched.util.atomic_files import replacing
from cpsched.util.documents import read_json

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

#: Of the layout of checkpoints; others are refused.
FORMAT = 5
#: Rows that are looked at together.
_PIECE = 1 << 16


def write(path: Path, identity: str, saved: Mapping[str, Any]) -> None:
    """
    Write a simulator's state to a file, whole or not at all.

    Parameters
    ----------
    identity
        Names the run.
    saved
        What :meth:`~cpsched.simulation.simulator.Simulator.state` gave.
    """
    arrays, plain = flattened(saved)
    plain["/format"], plain["/identity"] = FORMAT, identity
    plain["/digest"] = _digest(arrays, plain)
    arrays["/plain"] = np.array(json.dumps(plain))
    with replacing(path) as partial, partial.open("wb") as file:
        np.savez(file, **arrays)


def read(path: Path, identity: str) -> dict[str, Any]:
    """
    Read a state back.

    Raises
    ------
    RunError
        If the file is damaged, of another format, or of another run.
    """
    try:
        arrays = read_arrays(path, keep=put_away)
        plain = read_json(str(arrays.pop("/plain")))
        digest = plain.pop("/digest", None)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise RunError(f"{path} is not a checkpoint, or is damaged ({error})") from error
    if plain.get("/format") != FORMAT:
        raise RunError(
            f"{path} is a checkpoint of another version of cpsched. Remove it to start again."
        )
    if digest != _digest(arrays, plain):
        raise RunError(f"{path} is damaged: it was modified after it was written")
    if plain.get("/identity") != identity:
        raise RunError(
            f"{path} is a checkpoint of another run (workload, system, dispatcher, predictor,"
            " settings or versions differ). Remove it to start again."
        )
    del plain["/format"], plain["/identity"]
    return unflattened({**arrays, **plain})


def _digest(arrays: Mapping[str, Any], plain: Mapping[str, Any]) -> str:
    """Return the SHA-256 (hex) of everything in a checkpoint."""
    sha = hashlib.sha256(json.dumps(plain, sort_keys=True).encode())
    for name, array in sorted(arrays.items()):
        sha.update(f"{name} {array.dtype} {array.shape}".encode())
        for first in range(0, max(len(array), 1) if array.ndim else 1, _PIECE):
            piece = array[first : first + _PIECE] if array.ndim else array
            sha.update(np.ascontiguousarray(piece).tobytes())
    return sha.hexdigest()
