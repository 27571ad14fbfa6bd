"""What packages say of several logs together: what they register under ``cpsched.overviews``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from cpsched.base import registry

if TYPE_CHECKING:
    from cpsched.base.tables import Table
    from cpsched.study.tables import Tables


class Overview(NamedTuple):
    """
    What leads, before the results on each log.

    Attributes
    ----------
    sentences
        The finding over all logs.
    tables
        Each with its title as caption.
    data
        The same for programs: plain JSON types.
    """

    sentences: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    data: Any = None


def overview(tables: Tables) -> Overview:
    """Return what the first package that has something to say of a study's logs says."""
    found = (registry.load("overviews", name)(tables) for name in registry.names("overviews"))
    return next(filter(None, found), Overview())
