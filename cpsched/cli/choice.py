"""Options that take one of a few words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpsched.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence


def one_of(option: str, value: str, accepted: Sequence[str]) -> None:
    """Raise :class:`~cpsched.errors.ConfigError` unless a value is one of the accepted."""
    if value not in accepted:
        raise ConfigError(f"'{value}' is not one of: {', '.join(accepted)}", key=option)
