"""What packages say of several logs together: what they register under ``cpsched.overviews``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from cpsched.util import registry

if TYPE_CHECKING:
    from cpsched.study.tables import Tables
    from cpsched.util.tables import Table


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
