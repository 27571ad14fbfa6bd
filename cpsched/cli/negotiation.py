"""``cpsched negotiation``: the messages between the two sides of ``dn-dbes``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from cpsched.cli.options import LOOK, AsJson
from cpsched.cli.output import echo, print_json
from cpsched.errors import ConfigError

_app = typer.Typer(
    help="Inspect negotiations of dn-dbes written by simulate --observe negotiation:file=FILE.",
    no_args_is_help=True,
)
_File = Annotated[
    Path, typer.Argument(metavar="FILE", help="A file written by simulate --observe.")
]


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.add_typer(_app, name="negotiation", rich_help_panel=LOOK, hidden=True)


@_app.command("show")
def show(
    file: _File,
    transaction: Annotated[
        int | None,
        typer.Option(min=1, help="Its messages; without it, all are listed.", metavar="N"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the messages of a transaction, or list all transactions."""
    from cpsched.cli.report import width
    from cpsched.papers.dn_dbes.record import read
    from cpsched.util.tables import Column, Table
    from cpsched.util.words import seconds

    transactions = read(file)
    if transaction is None:
        rows = [_outcome(number, lines) for number, lines in transactions.items()]
        if as_json:
            print_json("negotiation", {"transactions": rows})
            return
        columns = (
            Column(name.replace("_", " "), "", tuple(row[name] for row in rows))
            for name in _outcome(0, [])
        )
        echo(Table("Transactions:", tuple(columns)).text(width=width()))
        return
    if transaction not in transactions:
        numbers = transactions or {0: []}
        there = f"they are {min(numbers)} to {max(numbers)}"
        raise ConfigError(f"the file has no transaction {transaction}; {there}", where=file)
    found = transactions[transaction]
    if as_json:
        print_json("negotiation", {"messages": found})
        return
    echo(f"Transaction {transaction:,}, at {seconds(found[0]['second'])}\n")
    for line in found:
        said = json.dumps(line["message"])
        echo(f"{line['sender']:>7} -> {line['receiver']:<7}  {line['type']} {said}")


def _outcome(transaction: int, lines: list[dict[str, Any]]) -> dict[str, int]:
    """Return what came of a transaction."""
    from cpsched.papers.dn_dbes.record import REPORTS

    states = [
        status["state"]
        for line in lines
        if line["type"] in REPORTS
        for status in line["message"]["jobs"]
    ]
    return {
        "transaction": transaction,
        "second": lines[0]["second"] if lines else 0,
        "offers": sum(line["type"] == "Offer" for line in lines),
        "started": states.count("started"),
        "resized": states.count("resized"),
    }
