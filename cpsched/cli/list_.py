"""``cpsched list``: the names of each kind to choose from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cpsched.cli.options import AsJson, names_of
from cpsched.cli.output import echo, print_json
from cpsched.cli.registered import KINDS, Row, rows_of, show_rows
from cpsched.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Collection

    Kind = str
else:
    Kind = Literal[tuple(KINDS)]

#: The dispatchers to begin with, and when to use each.
_FIRST = {
    "easy": "what most sites run; compare everything else with it",
    "easy-wsept": "many short jobs and rough requested times: lower slowdowns, longer tails",
    "easy-slowdown": "a cluster that is overloaded for days, GPU jobs in bursts",
    "conservative": "tails of the wait matter more than means; slow if hundreds of jobs wait",
    "slurm": "what Slurm does: with its defaults, or as your site does with --slurm-policy",
}
_BEGIN = """\
Where to begin, on your own log: cpsched list dispatchers shows five, and when to use each.
Whatever you choose, look at the longest wait before the mean: means improve if a few jobs wait
very long."""


def command(
    context: typer.Context,
    kind: Annotated[
        Kind | None,
        typer.Argument(metavar="[KIND]", help="What to list; without it, the kinds are listed."),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="All dispatchers, by family, not only five to begin with.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """
    List dispatchers, predictors, systems and the rest, with their options and when to use them.
    """
    if kind is None:
        _overview(as_json=as_json)
        return
    if context.args:
        name = context.args[0]
        raise ConfigError(f"list takes a kind alone; use cpsched show {kind} {name}", key=name)
    rows = rows_of(kind)
    if as_json:
        print_json("list", {"kind": kind, "names": [row._asdict() for row in rows]})
    elif kind == "dispatchers" and not everything:
        show_rows(*_first({row.name for row in rows}))
        echo("\ncpsched list dispatchers --all shows the others, by family.")
    else:
        show_rows(*rows)
        if kind == "changes":
            echo("\nAlso: set KEY=VALUE, dispatcher NAME, predictor NAME (of the baseline).")


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
    echo("\ncpsched show KIND NAME explains the options of one of them.")
    echo(f"cpsched show systems FILE shows what is in a system file.\n\n{_BEGIN}")
