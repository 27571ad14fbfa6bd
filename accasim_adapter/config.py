"""A system as AccaSim's system configuration; :mod:`cpsched.systems.accasim` reads them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cpsched.model.system import System


def system_config(system: System) -> dict[str, Any]:
    """
    Return a system as AccaSim's system configuration, node by node in the same order.

    Nodes of one group that do not follow each other become groups of their own.
    """
    groups: dict[str, dict[str, int]] = {}
    counts: dict[str, int] = {}
    last: tuple[Any, ...] | None = None
    name = ""
    for group, row in zip(system.node_groups, system.capacity.tolist(), strict=True):
        if (group, row) != last:
            taken = sum(other == group or other.startswith(f"{group}-") for other in groups)
            name = f"{group}-{taken + 1}" if taken else group
            groups[name] = dict(zip(system.resources, row, strict=True))
            counts[name] = 0
            last = (group, row)
        counts[name] += 1
    cores = {"core": system.log.processor_cores}
    return {"groups": groups, "resources": counts, "equivalence": {"processor": cores}}


def write_system_config(system: System, path: str | Path) -> None:
    """Write :func:`system_config` to a file that AccaSim reads."""
    Path(path).write_text(json.dumps(system_config(system), indent=1) + "\n", encoding="utf-8")
