"""The messages between the two sides of ``dn-dbes``, as ``cpsched show`` prints them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from cpsched.cli.output import echo, print_json
from cpsched.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path


def show_negotiation(file: Path, transaction: int | None = None, *, as_json: bool = False) -> None:
    """
    Print the messages of a transaction, or a list of all transactions.

    Raises
    ------
    ConfigError
        If the file has no such transaction.
    """
    from cpsched.cli.heading import width
    from cpsched.papers.dn_dbes.record import read
    from cpsched.util.terminal import table_text
    from cpsched.util.words import seconds

    transactions = read(file)
    if transaction is None:
        rows = [_outcome(number, lines) for number, lines in transactions.items()]
        if as_json:
            print_json("negotiation", {"transactions": rows})
            return
        headers = [name.replace("_", " ") for name in _outcome(0, [])]
        cells = [[f"{number:,}" for number in row.values()] for row in rows]
        echo(f"Transactions:\n\n{table_text(headers, cells, width=width(), names=0)}")
        return
    if transaction not in transactions:
        numbers = transactions or {0: []}
        there = f"Its transactions are {min(numbers)} to {max(numbers)}."
        raise ConfigError(f"the file has no transaction {transaction}. {there}", where=file)
    messages = transactions[transaction]
    if as_json:
        print_json("negotiation", {"messages": messages})
        return
    echo(f"Transaction {transaction:,}, at {seconds(messages[0]['second'])}\n")
    for line in messages:
        content = json.dumps(line["message"])
        echo(f"{line['sender']:>7} -> {line['receiver']:<7}  {line['type']} {content}")


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
