"""Files to write: checked before the work begins, and complete when they appear."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING
from uuid import uuid4

from cpsched.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


#: What files and folders are called in front until they are complete.
PARTIAL = ".partial-"


def check_new_file(
    path: Path, *, overwrite: bool, suffixes: tuple[str, ...] = (), key: str | None = None
) -> None:
    """
    Check that a file can be written, before time is spent on its content.

    Parameters
    ----------
    suffixes
        What its name must end in; anything if there are none.
    key
        The option that named it, for messages.

    Raises
    ------
    ConfigError
        If its name ends in something else, its folder does not exist, or there is something of
        this name that is not to be (or cannot be) replaced.
    """
    if suffixes and not path.name.endswith(suffixes):
        raise ConfigError(f"must end in {', '.join(suffixes)}", where=path, key=key)
    if not path.absolute().parent.is_dir():
        raise ConfigError("its folder does not exist", where=path, key=key)
    if path.exists() and not path.is_file():
        raise ConfigError("is not a regular file; choose another name", where=path, key=key)
    if path.exists() and not overwrite:
        message = "the file exists; choose another name, or add --overwrite"
        raise ConfigError(message, where=path, key=key)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """
    Give a file to write, which takes its real name when the block ends without an error.

    Until then it is beside its final place, under a unique name with the same ending, which may
    determine the format.
    """
    partial = path.with_name(f"{PARTIAL}{uuid4().hex}-{path.name}")
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
