"""Files that appear when they are complete, and not at all where writing them fails."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


def partial_name(name: str) -> str:
    """Return what a file is called until it is complete."""
    return f".partial-{name}"


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """
    Give a file to write, which takes its real name when the block ends without an error.

    Until then the end of its name is the same, which may say its format.
    """
    partial = path.with_name(partial_name(path.name))
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def write_all(folder: Path, files: Mapping[str, bytes]) -> list[Path]:
    """
    Write files by name, and give them their names when all are written; return them.

    Raises
    ------
    OSError
        If one cannot be written; then all are as they were.
    """
    with ExitStack() as stack:
        for name, content in files.items():
            stack.enter_context(replacing(folder / name)).write_bytes(content)
    return [folder / name for name in files]
