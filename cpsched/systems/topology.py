"""The ``[topology]`` section of a system file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.base import registry
from cpsched.model.curves import CURVES
from cpsched.model.topology import Topology, TopologyKind

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from cpsched.base.section import Section
    from cpsched.base.types import IntArray

#: The keys of each kind of topology; the first of each says which kind it is.
_KINDS = {
    "level_sizes": (),
    "switches": (),
    "block_size": (),
    "block_sizes": (),
    "router_size": ("group_size",),
    "sides": ("order",),
}


def read_topology(section: Section, node_names: Sequence[str]) -> tuple[IntArray, Topology]:
    """
    Return the topology that a section describes; an empty one is a plain line.

    Returns
    -------
    order, topology
        Positions of the nodes in the order of the topology, shape ``(N,)``: only a file of
        another program (``cpsched.topology_files``) gives another order than that of the system
        file.

    Raises
    ------
    ConfigError
        If it names keys of two kinds, or sizes that do not fit the number of nodes.
    """
    num_nodes = len(node_names)
    order = np.arange(num_nodes, dtype=np.int64)
    files = registry.names("topology_files")
    kinds = {**_KINDS, **{name: (f"{name}_topology",) for name in files}}
    named = [key for key in kinds if key in section]
    section.expect(*kinds, *(key for more in kinds.values() for key in more))
    if len(named) > 1:
        raise section.error(named[1], f"describes another topology than {named[0]}; give one")
    main = named[0] if named else None
    for owner, more in kinds.items():
        for key in more:
            if key in section and owner != main:
                raise section.error(key, f"goes with {owner}, which is not given")
    if main is None:
        return order, Topology(num_nodes)
    if main in files:
        key = f"{main}_topology"
        name = section.text(key) if key in section else None
        kind = registry.load("topology_files", main)
        file = section.beside(main)
        if name is not None and not kind.has_names(file):
            raise section.error(key, f"{file.name} has one topology; only YAML names")
        return kind.read(file, node_names, name)  # type: ignore[no-any-return]
    arguments = _arguments(section, main)
    try:
        return order, Topology(num_nodes, **arguments)
    except ValueError as error:
        raise section.error(main, str(error)) from error


def _arguments(section: Section, main: str) -> dict[str, Any]:
    """Return what makes the topology, by the parameters of :class:`Topology`."""
    if main == "level_sizes":
        return {"level_sizes": section.counts(main)}
    if main == "switches":
        return {"kind": TopologyKind.TREE, "group_sizes": section.count_lists(main)}
    if main == "block_size":
        return {"kind": TopologyKind.BLOCK, "level_sizes": (section.needed_count(main),)}
    if main == "block_sizes":
        return {"kind": TopologyKind.BLOCK, "level_sizes": section.counts(main)}
    if main == "router_size":
        sizes = (section.needed_count(main), section.needed_count("group_size"))
        return {"kind": TopologyKind.DRAGONFLY, "level_sizes": sizes}
    order = section.choice("order", CURVES, CURVES[0]) or CURVES[0]
    return {"kind": TopologyKind.TORUS, "sides": section.counts(main), "curve": order}
