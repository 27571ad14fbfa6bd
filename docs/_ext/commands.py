"""The commands and their options, from what typer knows of them, as Markdown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

from cpsched.cli.main import build

if TYPE_CHECKING:
    from collections.abc import Iterator


def commands(_: str, depth: int) -> str:
    """Return a section for each command, those of groups below them."""
    # Asked for "generate", the command line loads the generators' own options, too.
    command_line = build(["generate", "--help-all"])
    return "\n\n".join(_sections(command_line, "cpsched", depth - 1))


def _sections(command: Any, name: str, depth: int) -> Iterator[str]:
    if " " in name:
        yield _section(command, name, depth)
    for below, inner in getattr(command, "commands", {}).items():
        if not inner.hidden:
            yield from _sections(inner, f"{name} {below}", depth + 1)


def _section(command: Any, name: str, depth: int) -> str:
    parts = [f"{'#' * depth} `{name}`", *map(_text, (command.help or "").split("\n\n"))]
    taken = [item for item in command.params if not item.hidden and item.name != "help"]
    arguments = [item for item in taken if item.param_type_name == "argument"]
    options = [item for item in taken if item.param_type_name == "option"]
    if not hasattr(command, "commands"):
        words = [name, *map(_value, arguments), *(["[OPTIONS]"] if options else [])]
        parts.append(f"```\n{' '.join(words)}\n```")
    parts += [f"`{_value(item)}`\n: {_meaning(item)}" for item in arguments]
    parts += [f"{_names(item)}\n: {_meaning(item)}" for item in options]
    return "\n\n".join(parts)


def _names(option: Any) -> str:
    names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    return names if option.is_flag else f"{names} *{_text(_value(option))}*"


def _value(parameter: Any) -> str:
    """Return what stands for a value in a line of usage."""
    if parameter.metavar:
        return str(parameter.metavar)
    if parameter.param_type_name == "argument" or _choices(parameter):
        return str(parameter.name.upper())
    kind = parameter.type_descriptor.annotation
    kind = next(iter(get_args(kind)), kind)
    return {"int": "NUMBER", "float": "NUMBER", "Path": "FILE"}.get(kind.__name__, "TEXT")


def _choices(parameter: Any) -> tuple[str, ...]:
    kind = parameter.type_descriptor.annotation
    return get_args(kind) if get_origin(kind) is Literal else ()


def _meaning(parameter: Any) -> str:
    parts = [_text(parameter.help)]
    if choices := _choices(parameter):
        parts.append("One of " + ", ".join(f"`{choice}`" for choice in choices) + ".")
    if parameter.multiple:
        parts.append("May be repeated.")
    return " ".join(filter(None, parts))


def _text(text: str | None) -> str:
    """Return help as Markdown: what looks like markup is meant as it stands."""
    return re.sub(r"([<>*_`|\[\]\\])", r"\\\1", " ".join((text or "").split()))
