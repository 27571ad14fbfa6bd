"""Shell completion: registered names, and machines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from collections.abc import Iterable


def complete_name(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete a name of the listed kind."""
    kind = ctx.params.get("kind")
    return _beginning(incomplete, names_of(str(kind))) if kind else []


def complete_dispatcher(incomplete: str) -> list[str]:
    """Complete the name of a dispatcher."""
    return _beginning(incomplete, names_of("dispatchers"))


def complete_predictor(incomplete: str) -> list[str]:
    """Complete the name of a predictor; model files are not offered."""
    return _beginning(incomplete, names_of("predictors"))


def complete_allocator(incomplete: str) -> list[str]:
    """Complete the name of an allocator."""
    return _beginning(incomplete, names_of("allocators"))


def complete_system(incomplete: str) -> list[str]:
    """Complete the name of a bundled machine; the shell completes files."""
    return _beginning(incomplete, names_of("systems"))


def names_of(kind: str) -> list[str]:
    """Return the names of one kind that ``cpsched list`` shows."""
    if kind == "systems":
        from cpsched import systems

        return list(systems.names())
    from cpsched.base import registry

    return list(registry.names(kind))


def _beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
