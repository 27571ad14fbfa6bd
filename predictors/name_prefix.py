"""How the prefix of a job's name is taken."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

#: What stands between the parts of a name.
_SEPARATORS = " _-.,:;+=#@()[]/"
_LONGEST = 256


def prefix_rule(setting: str) -> Callable[[str], str | None]:
    """
    Return the function that takes a name's prefix.

    Parameters
    ----------
    setting
        ``stem``: what stands before the first digit, without the separators at its end, so
        ``relax_012`` and ``relax-7b`` are both ``relax``. A number: so many characters of the
        beginning. ``none``: names have no prefix.

    Returns
    -------
    callable
        From a name to its prefix, None where it has none. A name of digits alone, as the archive
        logs have, is the number of an executable: its beginning says nothing, it has no prefix.

    Raises
    ------
    ValueError
        If the setting is none of these.
    """
    if setting == "none":
        return _none
    if setting == "stem":
        return _stem
    if not (setting.isascii() and setting.isdigit() and 1 <= int(setting) <= _LONGEST):
        raise ValueError(f"prefix is '{setting}', must be stem, none or a number from 1 to 256")
    return partial(_beginning, length=int(setting))


def _none(name: str) -> None:  # noqa: ARG001
    return None


def _beginning(name: str, length: int) -> str | None:
    return None if name.isdigit() else name[:length]


@lru_cache(maxsize=4096)
def _stem(name: str) -> str | None:
    for position, character in enumerate(name):
        if character.isdigit():
            return name[:position].rstrip(_SEPARATORS) or None
    return name.rstrip(_SEPARATORS) or None
