"""``cpsched list``: the names of each kind to choose from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cpsched.cli.options import AsJson, names_of
from cpsched.cli.output import echo, print_json
from cpsched.cli.registered import KINDS, Row, kind_of, rows_of, show_rows
from cpsched.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Collection

#: The dispatchers to begin with, and when to use each.
_FIRST = {
    "easy": "the rule of most sites, and the usual baseline",
    "easy-wsept": "many short jobs and rough requested times (lower slowdowns, longer tails)",
    "easy-slowdown": "a cluster that is overloaded for days, or GPU jobs in bursts",
    "conservative": "long waits matter more than the mean (slow if hundreds of jobs wait)",
    "slurm": "Slurm's own rules with its defaults, or with --slurm-policy those of your site",
}
_BEGIN = """\
To begin on your own log: 'cpsched list dispatchers' lists five dispatchers and when to use each.
Read the longest wait before the mean wait: a mean can improve while a few jobs wait very long."""


def command(
    context: typer.Context,
    kind: Annotated[
        str | None,
        typer.Argument(metavar="[KIND]", help="Kind, such as dispatchers. [list the kinds]"),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="List all dispatchers by family.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """
    List dispatchers, predictors, systems and other kinds with their options.
    """
    if kind is None:
        _overview(as_json=as_json)
        return
    kind = kind_of(kind)
    if context.args:
        name = context.args[0]
        raise ConfigError(
            f"'cpsched list' takes a kind only. Use 'cpsched show {kind} {name}'.", key=name
        )
    rows = rows_of(kind)
    if as_json:
        print_json("list", {"kind": kind, "names": [row._asdict() for row in rows]})
    elif kind == "dispatchers" and not everything:
        show_rows(*_first({row.name for row in rows}))
        echo("\n'cpsched list dispatchers --all' lists the others by family.")
    else:
        show_rows(*rows)
        if kind == "changes":
            echo("\nOther changes: set KEY=VALUE, dispatcher NAME, predictor NAME.")


def _first(there: Collection[str]) -> list[Row]:
    """Return the dispatchers to begin with: when to use each, and what a preset stands for."""
    from cpsched.util.spec import expand

    rows = []
    for name, when in _FIRST.items():
        if name in there:
            spec = str(expand("dispatchers", name))
            rows.append(Row(name, when, () if spec == name else (f"short for {spec}",)))
    return rows


def _overview(*, as_json: bool) -> None:
    names = {kind: names_of(kind) for kind in KINDS}
    if as_json:
        print_json("list", {"kinds": names})
        return
    for kind, words in KINDS.items():
        echo(f"cpsched list {kind:<15} {len(names[kind]):>3}  {words}")
    echo("\n'cpsched show KIND NAME' describes one of them and its options.")
    echo(f"'cpsched show systems FILE' describes a system file.\n\n{_BEGIN}")
