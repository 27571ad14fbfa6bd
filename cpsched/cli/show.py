"""``cpsched show``: the description of one thing, such as a dispatcher or a system file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cpsched.cli.heading import width
from cpsched.cli.negotiation_text import show_negotiation
from cpsched.cli.options import AsJson, names_of
from cpsched.cli.output import echo, print_json
from cpsched.cli.registered import KINDS, Row, aligned, meanings, rows_of, show_rows
from cpsched.cli.system_text import system_text
from cpsched.errors import ConfigError, UnknownNameError

#: The messages of a file that an observer of dn-dbes wrote.
_NEGOTIATION = "negotiation"
if TYPE_CHECKING:
    Kind = str
else:
    Kind = Literal[(*KINDS, _NEGOTIATION)]


def command(
    kind: Annotated[
        Kind,
        typer.Argument(metavar="KIND", help="A kind that cpsched list shows, or negotiation."),
    ],
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="Its name; also a file of a system or a negotiation.",
        ),
    ],
    transaction: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Show the messages of a transaction of a negotiation. [all transactions]",
            metavar="N",
            hidden=True,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show what a dispatcher, predictor, system and so on is, and what its options mean."""
    if kind == _NEGOTIATION:
        show_negotiation(Path(name), transaction, as_json=as_json)
        return
    if transaction is not None:
        raise ConfigError(f"goes with {_NEGOTIATION}", key="--transaction")
    if kind == "systems":
        _show_system(name, as_json=as_json)
        return
    rows = [row for row in rows_of(kind) if row.name == name]
    if not rows:
        raise UnknownNameError(kind.removesuffix("s").replace("_", " "), name, names_of(kind))
    if as_json:
        print_json("show", {"kind": kind, "names": [row._asdict() for row in rows]})
        return
    show_rows(rows[0]._replace(family=""))
    for option, words in meanings(kind, name):
        for line in aligned(Row(f"  {option}", words), 4 + len(option)):
            echo(line)


def _show_system(name: str, *, as_json: bool) -> None:
    """Print a system; a file that is wrong is an error that says where."""
    from cpsched import systems

    system = systems.load(name)
    if as_json:
        print_json("show", {"kind": "systems", "system": system.to_dict()})
    else:
        echo(system_text(system, width()))
