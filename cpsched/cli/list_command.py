"""``cpsched list``: what there is to choose from."""

from __future__ import annotations

import inspect
from textwrap import wrap
from typing import Annotated, Any, Literal, NamedTuple

import typer

from cpsched.cli.output import echo, escaped
from cpsched.cli.report import totals, width
from cpsched.errors import ConfigError

_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
Kind = Literal[
    "dispatchers",
    "predictors",
    "allocators",
    "priorities",
    "traces",
    "formats",
    "generators",
    "runtime_models",
    "outages",
    "changes",
    "systems",
]


class _Row(NamedTuple):
    """What is said of a name: a summary, and lines of details below it."""

    name: str
    summary: str
    details: tuple[str, ...] = ()


def command(
    kind: Annotated[Kind, typer.Argument(help="What to list.")],
) -> None:
    """List what is registered: what it is, the options it takes, and when to use a dispatcher."""
    rows = _systems() if kind == "systems" else _registered(kind)
    margin = max((len(row.name) for row in rows), default=0) + 2
    for row in rows:
        for line in _aligned(row, margin):
            echo(line)


def _aligned(row: _Row, margin: int) -> list[str]:
    """Return a row as lines no wider than the terminal, where words allow."""
    texts = [(row.name.ljust(margin), row.summary, " " * margin)]
    texts += [(" " * (margin + 2), detail, " " * (margin + 4)) for detail in row.details]
    return [
        line
        for first, text, later in texts
        for line in wrap(
            text,
            width(),
            initial_indent=first,
            subsequent_indent=later,
            break_long_words=False,
            break_on_hyphens=False,
        )
    ]


def _registered(kind: str) -> list[_Row]:
    from cpsched import registry

    rows = []
    for name in registry.names(kind):
        entry = registry.entries(kind)[name]
        try:
            thing = entry.load()
        except ConfigError as error:
            # A plug-in that is broken takes nothing from the others.
            rows.append(_Row(escaped(name), f"broken: {_one_line(str(error))}"))
            continue
        if entry.settled:
            settled = ", ".join(f"{key}={value}" for key, value in entry.settled.items())
            rows.append(_Row(escaped(name), f"{thing.name} with {settled}."))
            continue
        summary = getattr(thing, "summary", None) or _first_line(thing)
        details = (*_advice(thing), _options(thing))
        rows.append(_Row(escaped(name), summary, tuple(filter(None, details))))
    return rows


def _systems() -> list[_Row]:
    from cpsched import systems

    rows = []
    for name in systems.names():
        system = systems.load(name)
        rows.append(_Row(name, f"{system.title}: {system.num_nodes:,} nodes, {totals(system)}"))
    return rows


def _advice(thing: Any) -> tuple[str, ...]:
    """Return when to use a dispatcher and when not, where it says so."""
    labels = {"good for": "good_for", "goes wrong when": "goes_wrong_when"}
    return tuple(
        f"{label}: {_one_line(text)}"
        for label, attribute in labels.items()
        if (text := getattr(thing, attribute, ""))
    )


def _first_line(thing: Any) -> str:
    text = inspect.getdoc(thing) or ""
    return _one_line(text.split("\n\n")[0])


def _one_line(text: str) -> str:
    return escaped(" ".join(text.split()))


def _options(thing: Any) -> str:
    if not inspect.isclass(thing):
        return ""
    parameters = inspect.signature(thing).parameters.values()
    known = [
        f"{parameter.name}={_shown(parameter.default)}"
        for parameter in parameters
        if parameter.default is not inspect.Parameter.empty
    ]
    # What has to be given comes first; what a simulation gives is not an option.
    needed = [
        one.name
        for one in parameters
        if one.default is one.empty and one.kind in _NAMED and one.name != "truth"
    ]
    known = [*needed, *known]
    return f"options: {', '.join(known)}" if known else ""


def _shown(default: Any) -> str:
    return "none" if default is None else str(default)
