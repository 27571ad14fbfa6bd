"""``cpsched negotiation``: the messages between the two sides of ``dn-dbes``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cpsched.api.commands import LOOK, AsJson, counted, echo, escaped, print_json
from cpsched.api.errors import VerificationError

if TYPE_CHECKING:
    from cpsched.api.tools import Table
    from cpsched_papers.dn_dbes.negotiation import Sent
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
        typer.Option(
            min=0, help="Its messages; without it, all are listed. 0: how they began.", metavar="N"
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the messages of a transaction, or list all transactions."""
    from cpsched.api.commands import width
    from cpsched.api.tools import seconds
    from cpsched_papers.dn_dbes.record import as_data, read

    record = read(file)
    if transaction is None:
        rows = _rows(record)
        if as_json:
            print_json("negotiation", {"transactions": rows})
        else:
            echo(_table(rows).text(width=width()))
        return
    found = record.transaction(transaction)
    if as_json:
        messages = [as_data(sent) for sent in found]
        print_json("negotiation", {"messages": messages, "jobs": record.names})
        return
    echo(f"Transaction {transaction:,}, at {seconds(found[0].second)}\n")
    for line in map(as_data, found):
        said = _named(line["message"], record)
        echo(f"{line['sender']:>7} -> {line['receiver']:<7}  {line['type']} {json.dumps(said)}")


@_app.command("replay")
def replay(file: _File, as_json: AsJson = False) -> None:
    """Replay each message to both sides, and check that they answer the same."""
    from cpsched_papers.dn_dbes.record import read
    from cpsched_papers.dn_dbes.record import replay as replayed

    record = read(file)
    different = 0
    shown: list[str] = []
    for one in replayed(record):
        different += 1
        if different <= _MOST_DIFFERENCES:
            shown.append(
                f"{file}:{one.line}: transaction {one.transaction:,}: the {one.party} side"
                f" answers {_short(one.sent)}, but {_short(one.recorded)} is recorded"
            )
    numbers = {sent.transaction for _, sent in record.lines} - {0}
    if as_json:
        told_of = {"messages": len(record.lines), "transactions": len(numbers)}
        print_json("negotiation.replay", {**told_of, "different": different, "first": shown})
    else:
        for line in shown:
            echo(escaped(line))
    told = f"{counted(len(record.lines), 'message')} in {counted(len(numbers), 'transaction')}"
    if different:
        raise VerificationError(f"{told}: {counted(different, 'answer')} different")
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


def _short(message: object) -> str:
    text = "nothing" if message is None else repr(message)
    return text if len(text) <= 300 else f"{text[:297]}..."


def _rows(record: Record) -> list[dict[str, int]]:
    """Return what came of each transaction."""
    from cpsched_papers.dn_dbes.messages import Offer, StatusReport, UrgentJobResponse

    by_number: dict[int, list[Sent]] = {}
    for _, sent in record.lines:
        if sent.transaction:
            by_number.setdefault(sent.transaction, []).append(sent)
    rows = []
    for number, all_sent in by_number.items():
        messages = [sent.message for sent in all_sent]
        states = [
            status.state
            for message in messages
            if isinstance(message, StatusReport | UrgentJobResponse)
            for status in message.jobs
        ]
        offers = sum(isinstance(message, Offer) for message in messages)
        started, resized = states.count("started"), states.count("resized")
        others = len(states) - started - resized
        rows.append(
            {
                "transaction": number,
                "second": all_sent[0].second,
                "offers": offers,
                "started": started,
                "resized": resized,
                "suspended_or_killed": others,
            }
        )
    return rows


def _table(rows: list[dict[str, int]]) -> Table:
    from cpsched.api.tools import Column, Table

    names = ("transaction", "second", "offers", "started", "resized", "suspended_or_killed")
    return Table(
        "Transactions:",
        tuple(
            Column(name.replace("_", " "), "", tuple(row[name] for row in rows)) for name in names
        ),
    )
