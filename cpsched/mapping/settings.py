"""Settings such as ``share=0.5,cost=30``: names with values, each with a default."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cpsched.base.spec import Spec
from cpsched.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

#: What a log says itself counts.
NONE = "none"
#: The longest time that a setting may name, seconds.
LONGEST = 366 * 86400
_KINDS = {float: "a number", int: "a whole number of seconds", str: "a name"}


def read_settings(defaults: Mapping[str, Any], key: str, text: str) -> dict[str, Any]:
    """
    Read ``name=value,...``; what is left out has its default.

    Parameters
    ----------
    defaults
        Numbers, whole numbers of seconds, or names; values must be of the same kind.
    key
        What the setting is called, for messages.

    Raises
    ------
    ConfigError
        If there is no such name, or a value is not of its kind.
    """
    values = dict(defaults)
    for name, value in Spec.parse(f"{key}:{text}").options:
        if name not in values:
            raise ConfigError(f"has no {name}; there are: {', '.join(values)}", key=key)
        of = type(defaults[name])
        try:
            values[name] = of(value)
        except ValueError:
            raise ConfigError(f"{name} is {value}, must be {_KINDS[of]}", key=key) from None
    return values
