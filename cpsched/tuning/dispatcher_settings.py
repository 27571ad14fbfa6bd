"""Dispatchers and their options that a search may choose where there is no Slurm policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpsched.tuning.settings import Setting, Space
from cpsched.util.spec import Spec, canonical

if TYPE_CHECKING:
    from cpsched.tuning.settings import Choice

#: Values of each setting, the site's first, and the setting without which it has no effect.
_SETTINGS: dict[str, tuple[tuple[str, ...], tuple[str, str | None] | None]] = {
    "dispatcher": (("easy", "conservative"), None),
    "order": (("fifo", "sjf", "slowdown", "wsept"), None),
    "order.aging": (("43200", "21600", "86400", "259200"), ("order", "wsept")),
    "order.width_exponent": (("0.5", "0", "0.25", "1"), ("order", "wsept")),
    "estimate": (("predicted", "requested"), None),
    "backfill": (("none", "sjf"), ("dispatcher", "easy")),
    "depth": (("20", "5", "100"), ("dispatcher", "conservative")),
    "allocator": (("first-fit", "best-fit", "pack"), None),
}


def dispatcher_space() -> Space:
    """Return the dispatchers with their options. The site's is EASY in order of submission."""
    return Space.of(
        [
            Setting(key=key, values=values, current=values[0], needs=needs)
            for key, (values, needs) in _SETTINGS.items()
        ]
    )


def dispatcher_of(choice: Choice) -> str:
    """Return the specification of a dispatcher with the changed options."""
    options = {key: value for key, value in choice.items() if key != "dispatcher"}
    name = choice.get("dispatcher", "easy")
    if name == "conservative":
        # By default every job has a reservation.
        options.setdefault("depth", _SETTINGS["depth"][0][0])
    return canonical("dispatchers", str(Spec(name, tuple(options.items()))))
