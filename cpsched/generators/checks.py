"""What options of generators have to be, said in one line when they are not."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from cpsched.errors import ConfigError

#: Seeds of NumPy's generators that fit a column of a table.
LARGEST_SEED = 2**63 - 1


def check_whole(options: Any, **bounds: tuple[int, int]) -> None:
    """Check that options are whole numbers; as :func:`check_number`."""
    for key in bounds:
        value = getattr(options, key)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
            raise ConfigError(f"{value!r} is not a whole number", key=key)
        check_number(options, **{key: bounds[key]})


def check_number(options: Any, **bounds: tuple[float, float]) -> None:
    """
    Check that options are numbers within bounds, both ends included; None is left alone.

    Raises
    ------
    ConfigError
        If one is not; names the option and what it may be.
    """
    for key, (low, high) in bounds.items():
        value = getattr(options, key)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ConfigError(f"{value!r} is not a number", key=key)
        if not low <= value <= high:
            raise ConfigError(f"{value} is not between {low} and {high}", key=key)


def header(name: str, version: int, options: Any) -> list[tuple[str, str]]:
    """Return metadata that says a workload is not a recording, and how to make it again."""
    given = [(item.name, str(getattr(options, item.name))) for item in fields(options)]
    return [
        ("Computer", "generated: no recording of any machine"),
        ("Generator", f"cpsched {name}, version {version}"),
        *((f"Option {key}", value) for key, value in given if value != "None"),
    ]
