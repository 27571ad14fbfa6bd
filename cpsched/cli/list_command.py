"""``cpsched list``: what there is to choose from."""

from __future__ import annotations

import inspect
from typing import Annotated, Any, Literal

import typer

from cpsched.cli.output import echo, escaped
from cpsched.cli.report import totals
from cpsched.errors import ConfigError

Kind = Literal[
    "dispatchers",
    "predictors",
    "allocators",
    "priorities",
    "traces",
    "formats",
    "generators",
    "runtime_models",
    "systems",
]


def command(
    kind: Annotated[Kind, typer.Argument(help="What to list.")],
) -> None:
    """List what is registered, with a line on each and the options it takes."""
    rows = _systems() if kind == "systems" else _registered(kind)
    width = max((len(name) for name, _, _ in rows), default=0)
    for name, summary, options in rows:
        echo(f"{name:<{width}}  {summary}")
        if options:
            echo(f"{'':<{width}}    {options}")


def _registered(kind: str) -> list[tuple[str, str, str]]:
    from cpsched import registry

    rows = []
    for name in registry.names(kind):
        entry = registry.entries(kind)[name]
        try:
            thing = entry.load()
        except ConfigError as error:
            # A plug-in that is broken takes nothing from the others.
            rows.append((escaped(name), f"broken: {_one_line(str(error))}", ""))
            continue
        summary = getattr(thing, "summary", None) or _first_line(thing)
        if entry.settled:
            settled = ", ".join(f"{key}={value}" for key, value in entry.settled.items())
            rows.append((escaped(name), f"{thing.name} with {settled}.", ""))
            continue
        rows.append((escaped(name), summary, _options(thing)))
    return rows


def _systems() -> list[tuple[str, str, str]]:
    from cpsched import systems

    rows = []
    for name in systems.names():
        system = systems.load(name)
        rows.append((name, f"{system.title}: {system.num_nodes:,} nodes, {totals(system)}", ""))
    return rows


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
    return f"options: {', '.join(known)}" if known else ""


def _shown(default: Any) -> str:
    return "none" if default is None else str(default)
