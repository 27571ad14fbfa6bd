"""The allocator of a dispatcher, and whether a comparison mixes allocators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpsched.errors import ConfigError
from cpsched.util.spec import Spec, options_of, resolved

if TYPE_CHECKING:
    from collections.abc import Iterable

_OPTION = "allocator"
#: The option by which a dispatcher names the one it wraps.
_INNER = "dispatcher"


def allocator_of(dispatcher: str) -> str | None:
    """
    Return the allocator of a dispatcher (a specification), by option or by default.

    None if it takes none because it chooses nodes itself, or if it is not installed.
    """
    try:
        options = resolved("dispatchers", Spec.parse(dispatcher))
    except ConfigError:
        return None
    if _INNER in options:
        return allocator_of(str(options[_INNER]))
    allocator = options.get(_OPTION)
    return None if allocator is None else str(allocator)


def with_allocator(dispatcher: str, allocator: str) -> str:
    """Return a dispatcher with an allocator, unless it sets its own or takes none."""
    spec = Spec.parse(dispatcher)
    inner = resolved("dispatchers", spec).get(_INNER)
    if inner is not None:
        return str(spec.with_options({_INNER: with_allocator(str(inner), allocator)}))
    if _OPTION in spec.values or _OPTION not in options_of("dispatchers", spec.name):
        return dispatcher
    return str(spec.with_options({_OPTION: allocator}))


def mixed_allocators(runs: Iterable[tuple[str, str, str | None]]) -> str | None:
    """
    Return a line that says that a comparison mixes allocators; None if it does not.

    Parameters
    ----------
    runs
        The dispatcher's label, its specification, and its allocator, for each run.

    Notes
    -----
    A comparison of allocators does not mix them: each dispatcher has the same ones. Nor do
    dispatchers that take none.
    """
    of_dispatcher: dict[Spec, set[str]] = {}
    labels: dict[str, dict[str, None]] = {}
    for label, dispatcher, allocator in runs:
        if allocator is None:
            continue
        spec = Spec.parse(dispatcher)
        alone = Spec(spec.name, tuple(pair for pair in spec.options if pair[0] != _OPTION))
        of_dispatcher.setdefault(alone, set()).add(allocator)
        labels.setdefault(allocator, {})[label] = None
    if all(
        allocators == next(iter(of_dispatcher.values())) for allocators in of_dispatcher.values()
    ):
        return None
    names = ", ".join(f"{name} ({', '.join(labels[name])})" for name in sorted(labels))
    return f"Allocators differ: {names}. Set one allocator for all to compare dispatchers alone."
