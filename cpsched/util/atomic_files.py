"""Files and folders to write: checked first, and complete when they appear."""

from __future__ import annotations

import errno
import fcntl
import os
from contextlib import ExitStack, contextmanager, suppress
from glob import escape
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
        raise ConfigError("the folder does not exist. Make it first.", where=path, key=key)
    if path.exists() and not path.is_file():
        raise ConfigError("is not a regular file. Choose another name", where=path, key=key)
    if path.exists() and not overwrite:
        message = "the file exists. Choose another name, or add --force"
        raise ConfigError(message, where=path, key=key)


@contextmanager
def replacing(path: Path, *, ending: str = "") -> Iterator[Path]:
    """
    Give a file to write, which takes its real name when the block ends without an error.

    Until then it is beside its final place, under a unique name with the same ending, which may
    determine the format. It is on the disk before it takes its name, so that the name stands for
    the old content or for the new one whatever is killed or loses power. A link of that name is
    replaced, never followed. What a killed process has left beside it is removed.

    Parameters
    ----------
    ending
        Added to its name until then, where other programs read all files of its own ending.
    """
    name = f"{path.name}{ending}"
    for left in path.parent.glob(f"{PARTIAL}{'[0-9a-f]' * 32}-{escape(name)}"):
        _remove_left(left)
    partial = path.with_name(f"{PARTIAL}{uuid4().hex}-{name}")
    lock = _locked_new(partial)
    try:
        yield partial
        sync(partial)
        partial.replace(path)
        sync(path.parent)
    finally:
        partial.unlink(missing_ok=True)
        os.close(lock)


def _locked_new(partial: Path) -> int:
    """Make a file, and lock it for as long as this process writes it."""
    lock = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    # A file system without locks keeps what killed processes leave.
    with suppress(OSError):
        fcntl.flock(lock, fcntl.LOCK_SH)
    if partial.exists():
        return lock
    # Another process has taken it for one that was left, before it was locked.
    os.close(lock)
    return _locked_new(partial)


def _remove_left(partial: Path) -> None:
    """Remove a partial file, unless its process lives."""
    with suppress(OSError):
        handle = os.open(partial, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            partial.unlink()
        finally:
            os.close(handle)


def write_all(folder: Path, files: Mapping[str, bytes]) -> list[Path]:
    """
    Write files by name, and give them their names when all are written; return them.

    Each is as it was or new at every moment; if this is killed while it gives the names, some are
    new and some are not.

    Raises
    ------
    OSError
        If one cannot be written; then all are as they were.
    """
    with ExitStack() as stack:
        for name, content in files.items():
            stack.enter_context(replacing(folder / name)).write_bytes(content)
    return [folder / name for name in files]


def sync(path: Path) -> None:
    """Have a file, or the names in a folder, on the disk, so that no power failure takes them."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    except OSError as error:
        # Some file systems cannot do this for folders.
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(handle)


def open_lock(path: Path) -> int:
    """Open a file to lock, which is made if it is not there: never a link, nor its target."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)


def subfolder(parent: Path, *names: str) -> Path:
    """
    Return a folder in another one, which is made if it is not there.

    Parameters
    ----------
    parent
        As the caller was given it; it may be a link.
    names
        From there on; none of them is followed if it is a link, since what it points to is not
        ours to write to or to clear.

    Raises
    ------
    OSError
        If one cannot be made, or is a link or a file.
    """
    parent.mkdir(parents=True, exist_ok=True)
    for name in names:
        parent = parent / name
        if parent.is_symlink():
            raise NotADirectoryError(errno.ENOTDIR, "is a link, which is not followed", str(parent))
        parent.mkdir(exist_ok=True)
    return parent
