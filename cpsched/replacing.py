"""Files that appear when they are complete, and not at all where writing them fails."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """
    Give a file to write, which takes its real name when the block ends without an error.

    Until then it is called ``.partial-NAME``: the end of a name may say its format.
    """
    partial = path.with_name(f".partial-{path.name}")
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
