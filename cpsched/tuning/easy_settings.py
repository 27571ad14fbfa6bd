"""Dispatchers and their options that a search may choose where there is no Slurm policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpsched.tuning.settings import Setting, Space
from cpsched.util.spec import Spec, canonical

if TYPE_CHECKING:
    from cpsched.tuning.settings import Choice

#: Values of the options of ``easy``, the default first.
_OPTIONS = {
    "order": ("fifo", "sjf", "slowdown", "wsept"),
    "order.aging": ("43200", "21600", "86400", "259200"),
    "order.width_exponent": ("0.5", "0", "0.25", "1"),
    "estimate": ("predicted", "requested"),
    "backfill": ("none", "sjf"),
    "allocator": ("first-fit", "best-fit", "pack"),
}
#: The order whose options begin with ``order.``.
_WITH_OPTIONS = ("order", "wsept")


def easy_space() -> Space:
    """Return the options of ``easy``. The site's setting is EASY in order of submission."""
    return Space.of(
        [
            Setting(
                key=key,
                values=values,
                current=values[0],
                needs=_WITH_OPTIONS if key.startswith("order.") else None,
            )
            for key, values in _OPTIONS.items()
        ]
    )


def easy_of(choice: Choice) -> str:
    """Return the specification of ``easy`` with the changed options."""
    return canonical("dispatchers", str(Spec("easy", tuple(choice.items()))))
