"""Generic resources of nodes: ``Gres=gpu:a100:4,nvme:2`` of slurm.conf."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slurm_adapter.config.lines import UNITS

if TYPE_CHECKING:
    from slurm_adapter.config.lines import Value

#: ``gpu``, ``gpu:4``, ``gpu:a100:4(S:0-1)``, ``bandwidth:lustre:no_consume:4G``.
_GRES = re.compile(
    r"([A-Za-z][\w.+/-]*)(?::([A-Za-z][\w.+/-]*))?(:no_consume)?(?::([0-9]+)([KMGT]?))?(?:\([^)]*\))?",
    re.IGNORECASE,
)
#: A file or files in a row.
_BETWEEN = re.compile(r",(?![^(\[]*[)\]])")


@dataclass(frozen=True, slots=True)
class Gres:
    """
    Some of a node's resources.

    Attributes
    ----------
    name, type
        ``gpu`` and ``a100``; ``type`` is '' if none is given.
    count
        How many.
    consumed
        Whether jobs use them up (not ``no_consume``).
    """

    name: str
    type: str
    count: int
    consumed: bool = True


def read_gres(value: Value) -> tuple[Gres, ...]:
    """Return what ``Gres=`` of a node lists."""
    found = []
    for item in _BETWEEN.split(value.text):
        match = _GRES.fullmatch(item.strip())
        if match is None:
            raise value.error(f"has {item.strip()!r}, which is not of the form gpu:a100:4")
        name, kind, free, count, unit = match.groups()
        if kind and kind.lower() == "no_consume":
            kind, free = None, kind
        number = int(count or 1) * UNITS[(unit or "").lower()]
        found.append(Gres(name, kind or "", number, consumed=not free))
    return tuple(found)
