"""
Specifications like ``easy:priority=slowdown,backfill=sjf``: a name and its options.

Options are the keyword parameters of the thing's constructor; their types come from its
annotations, so a new option needs no code here.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from difflib import get_close_matches
from math import isfinite
from typing import TYPE_CHECKING, Any

from cpsched import registry
from cpsched.errors import ConfigError, UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_TRUE = {"true", "yes", "on", "1"}
_FALSE = {"false", "no", "off", "0"}


@dataclass(frozen=True)
class Spec:
    """
    A registered name with options as text.

    Attributes
    ----------
    name
        As registered.
    options
        Pairs in canonical (sorted) order.
    """

    name: str
    options: tuple[tuple[str, str], ...] = ()

    @classmethod
    def parse(cls, text: str) -> Spec:
        """
        Read ``name`` or ``name:key=value,key=value``.

        Raises
        ------
        ConfigError
            If an option has no value, or is given twice.
        """
        name, _, rest = text.strip().partition(":")
        options: dict[str, str] = {}
        for part in filter(None, (piece.strip() for piece in rest.split(","))):
            key, equals, value = (piece.strip() for piece in part.partition("="))
            if not equals or not key or not value:
                raise ConfigError(f"'{part}' is not an option; write key=value", where=text)
            if key in options:
                raise ConfigError("the option is given twice", where=text, key=key)
            options[key] = value
        return cls(name, tuple(sorted(options.items())))

    def __str__(self) -> str:
        if not self.options:
            return self.name
        return f"{self.name}:{','.join(f'{key}={value}' for key, value in self.options)}"


def is_file(path: Path) -> bool:
    """Whether an option's value, or what stands for a specification, is the name of a file."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        # No name a file could have: too long, or with a null character.
        return False


def build(group: str, spec: Spec | str, **given: Any) -> Any:
    """
    Make the thing a specification names.

    Parameters
    ----------
    group
        Registry group: ``dispatchers``, ``predictors``, ...
    given
        Arguments that do not come from text; passed only if the constructor takes them, and
        ``truth`` only to what says ``needs_truth``, whatever its parameters are called.

    Raises
    ------
    UnknownNameError
        If no such name is registered.
    ConfigError
        If an option is unknown, or its value not of its type or refused by the constructor.
    """
    spec = Spec.parse(spec) if isinstance(spec, str) else spec
    maker = registry.load(group, spec.name)
    parameters = inspect.signature(maker).parameters
    options = {
        key: _convert(spec, key, value, parameters, set(given)) for key, value in spec.options
    }
    withheld = set() if getattr(maker, "needs_truth", False) else {"truth"}
    known = {key: given[key] for key in given if key in parameters and key not in withheld}
    try:
        return maker(**known, **options)
    except (ValueError, TypeError) as error:
        if isinstance(error, UnknownNameError) or getattr(error, "where", None) is not None:
            raise
        raise ConfigError(str(error), where=spec) from error


def canonical(group: str, text: str) -> str:
    """
    Return a specification in its one form, checked by making the thing once.

    Raises
    ------
    UnknownNameError, ConfigError
        As :func:`build`.
    """
    spec = Spec.parse(text)
    build(group, spec)
    return str(spec)


def options_of(group: str, name: str) -> dict[str, Any]:
    """Return the options a registered thing takes and their defaults."""
    parameters = inspect.signature(registry.load(group, name)).parameters
    return {
        key: parameter.default
        for key, parameter in parameters.items()
        if parameter.default is not inspect.Parameter.empty
    }


def may_be_none(group: str, name: str, key: str) -> bool:
    """Return whether a registered thing takes an option, and ``none`` (or ``all``) for it."""
    parameter = inspect.signature(registry.load(group, name)).parameters.get(key)
    return parameter is not None and "None" in _wanted(parameter)


def _wanted(parameter: inspect.Parameter) -> str:
    annotation = parameter.annotation
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def _convert(
    spec: Spec,
    key: str,
    text: str,
    parameters: Any,
    hidden: set[str],
) -> Any:
    """Turn an option's text into the type its parameter is annotated with."""
    accepted = sorted(name for name in parameters if name not in hidden)
    if key not in accepted:
        close = get_close_matches(key, accepted, n=1)
        hint = f" Did you mean '{close[0]}'?" if close else ""
        there = ", ".join(accepted) or "none"
        raise ConfigError(
            f"no such option; '{spec.name}' takes: {there}.{hint}", where=spec, key=key
        )
    wanted = _wanted(parameters[key])
    if text.lower() in ("none", "all") and "None" in wanted:
        return None
    kind = next((kind for kind in _TYPES if re.search(rf"\b{kind}\b", wanted)), "str")
    try:
        value = _TYPES.get(kind, str)(text)
    except ValueError:
        raise ConfigError(f"'{text}' is not {_NAMES[kind]}", where=spec, key=key) from None
    if isinstance(value, float) and not isfinite(value):
        raise ConfigError(f"'{text}' is not a finite number", where=spec, key=key)
    return value


def _boolean(text: str) -> bool:
    if text.lower() in _TRUE:
        return True
    if text.lower() in _FALSE:
        return False
    raise ValueError(text)


#: How the text of an option becomes a value, by the type its parameter is annotated with.
_NAMES = {"bool": "yes or no", "int": "a whole number", "float": "a number"}
_TYPES: dict[str, Callable[[str], Any]] = {"bool": _boolean, "int": int, "float": float}
