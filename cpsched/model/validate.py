"""Values that calling code hands over."""

from __future__ import annotations

from enum import StrEnum
from typing import TypeVar

from cpsched.errors import ConfigError

Choice = TypeVar("Choice", bound=StrEnum)


def one_of(choices: type[Choice], value: Choice | str, key: str) -> Choice:
    """
    Return the member of an enumeration that a value names.

    Raises
    ------
    ConfigError
        If it names none; lists those there are.
    """
    try:
        return choices(value)
    except ValueError:
        known = ", ".join(choices)
        raise ConfigError(f"is {value!r}, must be one of: {known}", key=key) from None
