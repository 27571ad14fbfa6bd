"""
Models of files and options: every value is checked, every key accounted for.

An error is one line: the source, the line, the key, the value, and what would be accepted.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    ValidationError,
    ValidationInfo,
    WrapValidator,
    model_validator,
)

from cpsched.errors import ConfigError, CpschedError, instead_of, other_name
from cpsched.util.documents import key_lines, read_toml
from cpsched.util.types import MAX_AMOUNT, MAX_TIME
from cpsched.util.words import escaped

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping
    from enum import StrEnum
    from typing import Self

_Value = TypeVar("_Value")
_CLOCK = re.compile(r"(?:(\d{1,9})-)?(\d{1,12}):([0-5]\d):([0-5]\d)")
_SECONDS = re.compile(r"-?[0-9]{1,13}")
_MEMORY = re.compile(r"(\d{1,15}) ?(KB|MB|GB|TB)")
#: The place of an entry in a list, and the last part of a key.
_INDEX = re.compile(r"\[\d+\]")
_LAST = re.compile(r"(?:\[\d+\]|(?:^|\.)[^.\[]*)$")
_KB = {"KB": 1, "MB": 1 << 10, "GB": 1 << 20, "TB": 1 << 30}


class Model(BaseModel):
    """A table: no key may be unknown, and no value of another type than its field's."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, defer_build=True, arbitrary_types_allowed=True
    )

    @classmethod
    def known_keys(cls, info: ValidationInfo) -> Collection[str]:  # noqa: ARG003
        """Return the keys that the table may have."""
        return [item.alias or name for name, item in cls.model_fields.items()]

    @model_validator(mode="before")
    @classmethod
    def _check_keys(cls, table: Any, info: ValidationInfo) -> Any:
        """Refuse unknown keys before anything else: a misspelt key is not a missing one."""
        if not isinstance(table, dict):
            raise ConfigError(f"is {shown(table)}, must be a table")
        keys = cls.known_keys(info)
        for key in table if cls.model_config["extra"] != "ignore" else ():
            if key not in keys:
                instead = other_name("key", key)
                there = f". {instead}" if instead else instead_of(key, sorted(keys), "Keys here")
                raise ConfigError(f"unknown key{there}", key=escaped(key))
        for name, item in cls.model_fields.items():
            if item.is_required() and (key := item.alias or name) not in table:
                wanted = next(
                    (rule.wanted for rule in reversed(item.metadata) if isinstance(rule, Must)), ""
                )
                raise ConfigError(f"is missing{wanted and f'. It must be {wanted}.'}", key=key)
        return table


_Model = TypeVar("_Model", bound=Model)


@dataclass(frozen=True)
class Must:
    """What a value must be: the error of whatever is refused says it."""

    wanted: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> Any:
        """Return the schema of the type with this error."""
        return WrapValidator(self._checked).__get_pydantic_core_schema__(source, handler)

    def _checked(self, value: Any, check: Callable[[Any], _Value]) -> _Value:
        try:
            return check(value)
        except ValidationError as error:
            # A value within this one says what is wrong with it.
            if isinstance(_cause(error.errors(include_url=False)[0]), ConfigError):
                raise
        except ValueError:
            pass
        raise ConfigError(f"is {shown(value)}, must be {self.wanted}")


def shown(value: object) -> str:
    """Return a value as an error shows it."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


# --- types of values ------------------------------------------------------------------------------


def _filled(value: _Value) -> _Value:
    if not (value.strip() if isinstance(value, str) else value):
        raise ValueError
    return value


def distinct(values: tuple[_Value, ...]) -> tuple[_Value, ...]:
    """Return values of which none is there twice."""
    for at, value in enumerate(values):
        if value in values[:at]:
            raise ConfigError(f"{value!r} is listed twice")
    return values


def _scalar(value: Any) -> Any:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) if isinstance(value, int | float) else value


def _kilobytes(value: Any) -> Any:
    match = _MEMORY.fullmatch(value) if isinstance(value, str) else None
    return int(match[1]) * _KB[match[2]] if match else value


def _clock(value: Any) -> Any:
    match = _CLOCK.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return value
    days, hours, minutes, rest = (int(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + rest


def moment_of(value: Any) -> int | str:
    """
    Return seconds of the log's clock, or a date as text; a text may be either.

    Raises
    ------
    ValueError
        If it is neither.
    """
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, str):
        if _SECONDS.fullmatch(value):
            return moment_of(int(value))
        return datetime.fromisoformat(value).isoformat()
    if isinstance(value, bool) or not isinstance(value, int) or value < -MAX_TIME:
        raise ValueError
    return value


def whole(least: int = 1, limit: int = MAX_AMOUNT) -> tuple[Any, Must]:
    """Return what makes ``int`` the type of whole numbers within bounds."""
    return Field(strict=True, ge=least, le=limit), Must(f"a whole number from {least} to {limit}")


def span(least: int) -> tuple[Any, ...]:
    """Return what makes ``int`` the type of lengths of time: seconds or a clock."""
    number = f"of at least {least}" if least != 1 else "above 0"
    return (
        Field(strict=True, ge=least, le=MAX_TIME),
        BeforeValidator(_clock),
        Must(f'seconds as a whole number {number}, "6:00:00" or "1-00:00:00"'),
    )


def list_of(wanted: str) -> tuple[Any, Must]:
    """Return what makes a tuple the type of a list."""
    return Field(strict=False), Must(wanted)


Text = Annotated[str, AfterValidator(_filled), Must("text in quotes")]
Scalar = Annotated[str, BeforeValidator(_scalar), Must("a text, a number, or true or false")]
Texts = Annotated[
    tuple[Text, ...], *list_of('a list of texts, such as ["a", "b"]'), AfterValidator(distinct)
]
Flag = Annotated[bool, Field(strict=True), Must("true or false")]
Count = Annotated[int, *whole()]
CountOrZero = Annotated[int, *whole(0)]
_AtLeastOne = Annotated[int, Field(strict=True, ge=1)]
Counts = Annotated[tuple[_AtLeastOne, ...], *list_of("a list of whole numbers of at least 1")]
Seconds = Annotated[int, *span(1)]
SecondsOrZero = Annotated[int, *span(0)]
Memory = Annotated[
    int,
    Field(strict=True, ge=1, le=MAX_AMOUNT),
    BeforeValidator(_kilobytes),
    Must('KB as a whole number above 0, or text such as "16 GB"'),
]
Moment = Annotated[
    int | str,
    BeforeValidator(moment_of),
    Must("seconds of the log's clock, or a date such as 2014-03-31"),
]


def entries_of(key: str) -> tuple[Any, Must]:
    """Return what makes a tuple of models the type of a list of tables."""
    return list_of(f"entries of the form [[{key}]]")


def member_of(choices: type[StrEnum]) -> tuple[Any, Must]:
    """Return what makes an enumeration the type of its values as text."""
    return Field(strict=False), Must(f"one of: {', '.join(choices)}")


# --- where values are from ------------------------------------------------------------------------


@contextmanager
def at(key: str) -> Iterator[None]:
    """Say of an invalid value, outside of a model, which key it has."""
    try:
        yield
    except CpschedError as error:
        raise _located(key, error) from error


def _located(key: str, cause: Exception) -> ConfigError:
    """Return what a validator says is wrong with the value of a key, or with a key below it."""
    if not isinstance(cause, ConfigError):
        return ConfigError(str(cause), key=key)
    if cause.where is not None:
        # It is wrong within the value: in an option of a specification.
        return ConfigError(
            ": ".join(filter(None, (cause.key, cause.reason))), key=key, value=cause.where
        )
    key = ".".join(filter(None, (key, cause.key)))
    return ConfigError(cause.reason, key=key, value=cause.value)


@dataclass(frozen=True)
class Source:
    """
    Where values are from.

    Attributes
    ----------
    where
        The file; empty for options and parameters.
    content
        Its top level.
    lines
        The lines of its keys (:func:`~cpsched.util.documents.key_lines`).
    name_of
        Returns what the user calls a key, such as ``--dispatcher``.
    """

    where: str
    content: Mapping[str, Any]
    lines: Mapping[str, int] = field(default_factory=dict)
    name_of: Callable[[str], str] | None = None

    @classmethod
    def of_toml(cls, text: str, where: str) -> Self:
        """
        Return a TOML file.

        Raises
        ------
        ConfigError
            If it is not TOML.
        """
        try:
            return cls(where, read_toml(text), key_lines(text))
        except ValueError as error:
            raise ConfigError(str(error), where=where) from error

    @property
    def folder(self) -> Path:
        """The folder of the file, which paths in it are relative to."""
        return Path(self.where).parent

    def read(self, model: type[_Model], **context: Any) -> _Model:
        """Return the content as a model; ``context`` is for its validators."""
        return model.model_validate(self.content, context=context)

    def error(self, key: str, message: str, value: str | None = None) -> ConfigError:
        """Return the error that says what is wrong with a key, or within its value."""
        if self.name_of is not None:
            name = self.name_of(_INDEX.sub("", key))
            typed = f"{name} {value}" if value and name.startswith("--") else name
            return ConfigError(message, key=typed, value=None if typed != name else value)
        part = key
        # What is missing is missing from the table above it.
        while part and part not in self.lines:
            part = _LAST.sub("", part)
        line = self.lines.get(part)
        return ConfigError(message, where=self.where, line=line, key=key, value=value)

    @contextmanager
    def blamed(self) -> Iterator[None]:
        """Say of an invalid value where it is: of one of a model, or named by its key alone."""
        try:
            yield
        except (ConfigError, ValidationError) as error:
            if isinstance(error, ValidationError):
                cause = explained(error)
            elif error.where is not None:
                raise
            else:
                cause = error
            raise self.error(cause.key or "", cause.reason, cause.value) from error


def explained(error: ValidationError) -> ConfigError:
    """Return what is wrong with the first invalid value, and its key."""
    first = error.errors(include_url=False)[0]
    key = ""
    for part in first["loc"]:
        key += f"[{part + 1}]" if isinstance(part, int) else f".{escaped(part)}"
    if (cause := _cause(first)) is not None:
        return _located(key.lstrip("."), cause)
    wanted = first["msg"].replace("Input should be", "must be")
    return ConfigError(f"is {shown(first['input'])}, {wanted}", key=key.lstrip("."))


def _cause(error: Any) -> Exception | None:
    """Return the exception that a validator of this project raised."""
    cause: Exception | None = error.get("ctx", {}).get("error")
    return cause
