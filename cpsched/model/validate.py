"""Columns that calling code hands over, checked before anything is built of them."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from cpsched.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from cpsched.model.types import AnyArray, IntArray

_WHERE = "JobTable.build"
Choice = TypeVar("Choice", bound=StrEnum)


def whole_numbers(
    name: str, values: object, shape: tuple[int, ...], *, least: int | None = None
) -> IntArray:
    """
    Return a column as int64.

    Parameters
    ----------
    name
        Of the column, for messages.
    values
        Integers or booleans.
    shape
        What the column must have.
    least
        The smallest value allowed.

    Raises
    ------
    ConfigError
        If the values are no integers, of another shape, or too small; names column and job.
    """
    array: AnyArray = np.asarray(values)
    if array.shape != shape and not (array.size == 0 and shape[0] == 0):
        raise ConfigError(
            f"shape {array.shape}, must be {shape}: one row a job", where=_WHERE, key=name
        )
    if array.size and array.dtype.kind not in "iub":
        raise ConfigError(f"{array.dtype} values, must be integers", where=_WHERE, key=name)
    if array.dtype.kind == "u" and array.size and int(array.max()) > np.iinfo(np.int64).max:
        raise ConfigError(f"{array.max()} is too large for int64", where=_WHERE, key=name)
    whole = array.astype(np.int64).reshape(shape)
    if least is not None:
        within(name, whole, whole >= least, f"at least {least}")
    return whole


def within(name: str, values: IntArray, good: AnyArray, allowed: str) -> None:
    """
    Check that values are as they must be.

    Raises
    ------
    ConfigError
        If ``good`` is not true everywhere; names the first value that is not.
    """
    bad = np.argwhere(~good)
    if len(bad):
        first = tuple(bad[0].tolist())
        raise ConfigError(
            f"{values[first]} for job {first[0]} of the table, must be {allowed}",
            where=_WHERE,
            key=name,
        )


def known_names(kind: str, given: Iterable[str], known: Collection[str]) -> None:
    """
    Check that there is no name nobody would look at.

    Raises
    ------
    ConfigError
        If there is; lists the names there are.
    """
    for name in given:
        if name not in known:
            raise ConfigError(
                f"no such {kind}; there are: {', '.join(sorted(known))}", where=_WHERE, key=name
            )


def one_a_job(strings: Mapping[str, Sequence[str]], num: int) -> None:
    """
    Check that there is a string for every job.

    Raises
    ------
    ConfigError
        If there is not.
    """
    for name, values in strings.items():
        if len(values) != num:
            raise ConfigError(f"{len(values)} strings for {num} jobs", where=_WHERE, key=name)


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
