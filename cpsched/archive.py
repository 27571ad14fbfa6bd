"""Nested state as flat names, the way an archive of arrays keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


def flattened(nested: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """
    Return the arrays of nested mappings, and everything else in them, by the keys that lead there.

    Keys are joined by slashes, so none may hold one; an empty mapping leaves nothing.
    """
    arrays: dict[str, Any] = {}
    plain: dict[str, Any] = {}
    _flatten("", nested, arrays, plain)
    return arrays, plain


def _flatten(
    prefix: str, nested: Mapping[str, Any], arrays: dict[str, Any], plain: dict[str, Any]
) -> None:
    for key, item in nested.items():
        name = f"{prefix}{key}"
        if isinstance(item, Mapping):
            _flatten(f"{name}/", item, arrays, plain)
        elif isinstance(item, np.ndarray):
            arrays[name] = item
        else:
            plain[name] = item


def unflattened(flat: Mapping[str, Any], *always: str) -> dict[str, Any]:
    """Return what was flattened; mappings named in ``always`` are there though they were empty."""
    nested: dict[str, Any] = {name: {} for name in always}
    for name, value in flat.items():
        place = nested
        *parents, last = name.split("/")
        for parent in parents:
            place = place.setdefault(parent, {})
        place[last] = value
    return nested
