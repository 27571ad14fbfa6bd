"""
Texts of the command line to values without pydantic, which takes long to import.

Newer versions of typer build a pydantic adapter for every parameter of a command, given or not.
What ours hold - words, paths, numbers, and lists of them - is read here; whatever is not one of
those, or wrong, still goes to typer, so messages are the same. Versions of typer that do without
pydantic are left as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args, get_origin

#: Numbers as they are usually written; others are left to typer.
_WHOLE = re.compile(r"-?[0-9]{1,18}")
_DECIMAL = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{1,15})?(?:[eE]-?[0-9]{1,2})?")
#: What typer keeps of a parameter; where it has none of this name, nothing has to be done.
_SLOT = "_runtime_param"
#: Options of a typer parameter that ask for more than the type says.
_SPECIAL = ("parser", "clamp", "path_type", "exists", "resolve_path", "allow_dash")


def read_plainly(command: Any, above: Any = None) -> None:
    """
    Have a built command, and those below it, read plain parameters without pydantic.

    Parameters
    ----------
    above
        Context of the command this one is part of.
    """
    # The help option is made on demand, of the names the context knows.
    context = command.context_class(command, parent=above, **command.context_settings)
    for parameter in command.get_params(context):
        if getattr(parameter, _SLOT, command) is None and _is_plain(parameter):
            setattr(parameter, _SLOT, _Plain(parameter))
    for below in getattr(command, "commands", {}).values():
        read_plainly(below, context)


class _Plain:
    """Reads the values of one parameter, in the place of what typer would build."""

    def __init__(self, parameter: Any) -> None:
        self._parameter = parameter
        info = parameter.type_descriptor.parameter_info
        self._least, self._most = info.min, info.max
        self._read = _READERS[_kind(parameter.type_descriptor.annotation)]

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the value of a parameter, None or () where it was not given."""
        if value is None:
            return () if self._is_list() else None
        try:
            if not self._is_list():
                return self._one(value)
            if not isinstance(value, str):
                return [self._one(part) for part in value]
        except ValueError:
            pass
        return self._slowly(value, param, ctx)

    def _is_list(self) -> bool:
        return bool(self._parameter.multiple) or self._parameter.nargs == -1

    def _one(self, value: Any) -> Any:
        """Return one value; raise ValueError where typer must have a look."""
        found = self._read(value)
        if self._least is not None and found < self._least:
            raise ValueError(value)
        if self._most is not None and found > self._most:
            raise ValueError(value)
        return found

    def _slowly(self, value: Any, param: Any, ctx: Any) -> Any:
        setattr(self._parameter, _SLOT, None)
        return self._parameter.get_runtime_param().coerce(value, param=param, ctx=ctx)


def _is_plain(parameter: Any) -> bool:
    described = getattr(parameter, "type_descriptor", None)
    info = getattr(described, "parameter_info", None)
    return (
        info is not None
        and hasattr(parameter, "get_runtime_param")
        and not any(getattr(info, name, None) for name in _SPECIAL)
        and _kind(described.annotation) in _READERS  # type: ignore[union-attr]
    )


def _kind(annotation: Any) -> Any:
    """Return the type of one value."""
    return get_args(annotation)[0] if get_origin(annotation) is list else annotation


def _word(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(value)
    return value


def _path(value: Any) -> Path:
    return value if isinstance(value, Path) else Path(_word(value))


def _whole(value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if not _WHOLE.fullmatch(_word(value)):
        raise ValueError(value)
    return int(value)


def _decimal(value: Any) -> float:
    if isinstance(value, float):
        return value
    if not _DECIMAL.fullmatch(_word(value)):
        raise ValueError(value)
    return float(value)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(value)
    return value


_READERS: dict[Any, Callable[[Any], Any]] = {
    str: _word,
    Path: _path,
    int: _whole,
    float: _decimal,
    bool: _flag,
}
