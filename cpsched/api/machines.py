"""Machines: system files, node names, what a unit of a kind holds."""

from __future__ import annotations

from cpsched import systems
from cpsched.base.node_lists import compress, expand, natural
from cpsched.mapping.feasibility import unit_capacity
from cpsched.systems.nodes import MAX_NODES
