"""``cpsched negotiation``: the messages between the two sides of ``dn-dbes``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cpsched.api.commands import LOOK, AsJson, counted, echo, escaped, print_json
from cpsched.api.errors import VerificationError

if TYPE_CHECKING:
    from cpsched_papers.dn_dbes.record import Record

_app = typer.Typer(
    help="Inspect negotiations of dn-dbes written by simulate --observe negotiation:file=FILE.",
    no_args_is_help=True,
)
_File = Annotated[
    Path, typer.Argument(metavar="FILE", help="A file written by simulate --observe.")
]


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.add_typer(_app, name="negotiation", rich_help_panel=LOOK)


#: Lists of pairs that begin with jobs, and how many of each pair are.
_PAIRS = {"planned": 1, "dependencies": 2}
#: At most this many differences are shown.
_MOST_DIFFERENCES = 10


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
    from cpsched.api.commands import width
    from cpsched.api.tools import Column, Table, seconds
    from cpsched_papers.dn_dbes.record import read

    record = read(file)
    if transaction is None:
        rows = [_outcome(number, lines) for number, lines in record.transactions()]
        if as_json:
            print_json("negotiation", {"transactions": rows})
            return
        columns = (
            Column(name.replace("_", " "), "", tuple(row[name] for row in rows))
            for name in _outcome(0, [])
        )
        echo(Table("Transactions:", tuple(columns)).text(width=width()))
        return
    found = record.transaction(transaction)
    if as_json:
        print_json("negotiation", {"messages": found, "jobs": record.names})
        return
    echo(f"Transaction {transaction:,}, at {seconds(found[0]['second'])}\n")
    for line in found:
        said = _named(line["message"], record)
        echo(f"{line['sender']:>7} -> {line['receiver']:<7}  {line['type']} {json.dumps(said)}")


@_app.command("replay")
def replay(file: _File, as_json: AsJson = False) -> None:
    """Repeat each transaction, and check that both sides say the same."""
    from cpsched_papers.dn_dbes.record import read
    from cpsched_papers.dn_dbes.record import replay as replayed

    record = read(file)
    found = list(replayed(record))
    shown = [
        f"{file}:{one.line}: transaction {one.transaction:,}: the answer is {_short(one.sent)},"
        f" but {_short(one.recorded)} is recorded"
        for one in found[:_MOST_DIFFERENCES]
    ]
    transactions = sum(1 for _ in record.transactions())
    if as_json:
        numbers = {"messages": len(record.lines), "transactions": transactions}
        print_json("negotiation.replay", {**numbers, "different": len(found), "first": shown})
    else:
        for line in shown:
            echo(escaped(line))
    told = f"{counted(len(record.lines), 'message')} in {counted(transactions, 'transaction')}"
    if found:
        raise VerificationError(f"{told}: {counted(len(found), 'transaction')} different")
    if not as_json:
        echo(f"{told}: both sides give the recorded answers")


def _named(value: Any, record: Record, jobs: int = 0) -> Any:
    """
    Return what a message says with the names of jobs instead of their numbers.

    Parameters
    ----------
    jobs
        How many values at the beginning of a list are jobs.
    """
    if isinstance(value, list):
        return [
            record.name_of(one) if at < jobs and isinstance(one, int) else _named(one, record, jobs)
            for at, one in enumerate(value)
        ]
    if isinstance(value, dict):
        return {
            key: record.name_of(one)
            if key in ("job", "blocks") and isinstance(one, int)
            else _named(one, record, _PAIRS.get(key, 0))
            for key, one in value.items()
        }
    return value


def _short(message: dict[str, Any] | None) -> str:
    text = "nothing" if message is None else f"{message['type']} {json.dumps(message['message'])}"
    return text if len(text) <= 300 else f"{text[:297]}..."


def _outcome(transaction: int, lines: list[dict[str, Any]]) -> dict[str, int]:
    """Return what came of a transaction."""
    states = [
        status["state"]
        for line in lines
        if line["type"] in ("StatusReport", "UrgentJobResponse")
        for status in line["message"]["jobs"]
    ]
    started, resized = states.count("started"), states.count("resized")
    return {
        "transaction": transaction,
        "second": lines[0]["second"] if lines else 0,
        "offers": sum(line["type"] == "Offer" for line in lines),
        "started": started,
        "resized": resized,
        "suspended_or_killed": len(states) - started - resized,
    }
