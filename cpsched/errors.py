"""
The exceptions of cpsched.

::

    CpschedError
    |-- TraceError (ValueError)              a job log that cannot be read
    |-- ConfigError (ValueError)             an invalid system, study or option
    |   `-- UnknownNameError                 a dispatcher, predictor, ... that is not registered
    |-- InfeasibleRequestError (ValueError)  a job no node set of the system can ever hold
    |-- DispatchError (RuntimeError)         a decision that breaks an invariant of the system
    |-- RunError (ValueError)                a run directory that is missing, incomplete or damaged
    `-- VerificationError (RuntimeError)     a recorded schedule that contradicts its own inputs

Messages say what was found, where, and what would be accepted, on one line.
"""

from __future__ import annotations

from contextlib import contextmanager
from difflib import get_close_matches
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

from cpsched.former_names import OTHER_NAMES, RENAMED_OPTIONS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

Member = TypeVar("Member", bound=StrEnum)
#: Of more names than these, errors name the closest alone.
_MOST_LISTED = 12
#: Most close names in an error, and how similar those behind the first must be.
_MOST_CLOSE, _SIMILAR = 3, 0.8
#: What lists the names of a kind.
_LISTED_BY = {
    "dispatcher": "cpsched list dispatchers --all",
    "predictor": "cpsched list predictors",
    "allocator": "cpsched list allocators",
    "priority": "cpsched list priorities",
    "system": "cpsched list systems",
    "log format": "cpsched list log_formats",
    "output format": "cpsched list exports",
    "generator": "cpsched list generators",
    "runtime model": "cpsched list runtime_models",
    "kind of outages": "cpsched list outages",
    "change": "cpsched list changes",
    "observer": "cpsched list observers",
    "kind": "cpsched list",
}


class CpschedError(Exception):
    """Base class of all errors that cpsched raises on purpose. The errors can be pickled."""

    def __reduce__(self) -> tuple[object, ...]:
        # Exception would call the constructor with the finished message, which is not what the
        # constructors below take.
        return _rebuilt, (type(self), self.args, self.__dict__)

    def __str__(self) -> str:
        # Names and values from files may hold line ends of any kind.
        return " ".join(super().__str__().splitlines())


class TraceError(CpschedError, ValueError):
    """
    Error in a job log, or in one of its lines.

    Parameters
    ----------
    message
        The fault, and the expected content.
    file, line, field, value
        Position of the fault. ``line`` counts from 1. The message omits unknown parts.
    """

    def __init__(
        self,
        message: str,
        *,
        file: object = None,
        line: int | None = None,
        field: str | None = None,
        value: object = None,
    ) -> None:
        self.file = None if file is None else str(file)
        self.line = line
        self.field = field
        self.value = value
        self.reason = message
        place = self.file or ""
        if line is not None:
            place += f":{line}" if place else f"line {line}"
        parts = [place] if place else []
        if field is not None:
            shown = "" if value is None else f" = {_short(value)}"
            parts.append(f"field {field}{shown}")
        super().__init__(": ".join([*parts, message]))


class ConfigError(CpschedError, ValueError):
    """
    Error in a system file, a study or an option, with place and key.

    Parameters
    ----------
    message
        The fault, and the expected content.
    where, line, key, value
        The file, the line in it (from 1), the key, and its value if the message is about a part of
        it. The message omits unknown parts.
    """

    def __init__(
        self,
        message: str,
        *,
        where: object = None,
        line: int | None = None,
        key: str | None = None,
        value: str | None = None,
    ) -> None:
        self.where = None if where is None else str(where)
        self.line = line
        self.key = key
        self.value = value
        self.reason = message
        place = self.where if line is None or not self.where else f"{self.where}:{line}"
        parts = [part for part in (place, key, value) if part]
        super().__init__(": ".join([*parts, message]))


def unreadable(error: OSError) -> str:
    """Return why a file cannot be read: ``no such file``, or what the system says."""
    if isinstance(error, FileNotFoundError):
        return "no such file"
    return f"cannot be read: {error.strerror or error}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `` Did you mean 'x'?`` for the closest known names, or nothing if none is close."""
    names = list(known)
    similar = get_close_matches(name, names, n=_MOST_CLOSE, cutoff=_SIMILAR)
    close = [f"'{match}'" for match in similar or get_close_matches(name, names, n=1)]
    if not close:
        return ""
    *first, last = close
    names_before = f"{', '.join(first)} or " if first else ""
    return f" Did you mean {names_before}{last}?"


def instead_of(name: str, known: Collection[str], introduction: str) -> str:
    """
    Return the rest of a sentence on an unknown name: the closest names, and all of few.

    Parameters
    ----------
    introduction
        What the names are, such as ``Keys here``.
    """
    hint = did_you_mean(name, known)
    if len(known) <= _MOST_LISTED:
        return f".{hint} {introduction}: {', '.join(known) or 'none'}."
    return f".{hint}" if hint else f". {introduction}: {len(known)}, none of a similar name."


def other_name(kind: str, name: str) -> str:
    """Return what to write instead of a name that means something here; empty for any other."""
    return OTHER_NAMES.get(kind, {}).get(name.lower(), "")


def check_other_name(kind: str, name: str) -> None:
    """Refuse a name that means something here, and say what to write instead."""
    if instead := other_name(kind, name):
        raise ConfigError(f"unknown {kind} '{name}'. {instead}")


def check_renamed(option: str, known: Collection[str]) -> None:
    """Refuse an option by its former name, and name its new one of those known."""
    if names := [name for name in RENAMED_OPTIONS.get(option, ()) if name in known]:
        raise ConfigError(f"{option} is now {' or '.join(names)}")


class UnknownNameError(ConfigError):
    """Error of a name that is not registered, with the closest match and the other names."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        self.name = name
        names = sorted(known)
        if instead := other_name(kind, name):
            there = f". {instead}"
        elif kind in _LISTED_BY:
            there = f".{did_you_mean(name, names)} All names: {_LISTED_BY[kind]}"
        else:
            there = instead_of(name, names, "Known")
        super().__init__(f"unknown {kind} '{name}'{there}")


class InfeasibleRequestError(CpschedError, ValueError):
    """Error of a job whose request no set of nodes of the system can ever meet."""

    def __init__(self, job_id: str, reason: str) -> None:
        self.job_id = job_id
        self.reason = reason
        super().__init__(f"job {job_id} can never run on this system: {reason}")


class DispatchError(CpschedError, RuntimeError):
    """
    Error of a decision that breaks a rule, such as a start on nodes that are not free.

    The message has job, node, resource, request and free capacity.
    """


class RunError(CpschedError, ValueError):
    """Error of a run folder that is missing, incomplete or damaged."""


class VerificationError(CpschedError, RuntimeError):
    """
    Error of ``cpsched verify`` or ``cpsched check``: a schedule breaks a rule, or a check failed.
    """


def _rebuilt(
    kind: type[CpschedError], args: tuple[object, ...], details: dict[str, object]
) -> CpschedError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(details)
    return error


def _short(value: object, limit: int = 60) -> str:
    """Show a value from hostile input: escaped, and cut where it is long."""
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 4] + "...'"


def check_range(name: str, value: float, least: float, most: float) -> None:
    """
    Check an option.

    Raises
    ------
    ConfigError
        If the value is not in ``[least, most]``.
    """
    if not least <= value <= most:
        raise ConfigError(f"{name} is {value}, must be from {least} to {most}")


def check_least(name: str, value: float | None, least: int, word: str = "") -> None:
    """
    Check an option; None passes, which is written as ``word`` in the option.

    Raises
    ------
    ConfigError
        If the value is below ``least``.
    """
    if value is not None and value < least:
        other = f", or '{word}'" if word else ""
        raise ConfigError(f"{name} is {value}, must be {least} or more{other}")


def check_choice(name: str, value: str, known: Collection[str]) -> None:
    """
    Check an option.

    Raises
    ------
    ConfigError
        If the value is not one of those known.
    """
    if value not in known:
        allowed = " or ".join(known) if len(known) < 3 else f"one of {', '.join(known)}"
        raise ConfigError(f"{name} is '{value}', must be {allowed}")


def one_of(choices: type[Member], value: Member | str, key: str) -> Member:
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


@contextmanager
def taking_up(what: str) -> Iterator[None]:
    """Turn whatever a saved state that was altered raises into a :class:`RunError` of one line."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        if isinstance(error, RunError):
            raise
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise RunError(f"the saved state of {what} cannot be restored: {reason:.200}") from error
