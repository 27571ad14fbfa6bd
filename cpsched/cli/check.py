"""``cpsched check``: whether a system file is valid, or a class of one's own keeps its contract."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cpsched.cli.options import AsJson
from cpsched.cli.output import counted, echo, escaped, print_json
from cpsched.errors import VerificationError

if TYPE_CHECKING:
    from cpsched.checks.of_class import CheckResult

#: Endings of the names of system files.
_SYSTEM_FILES = (".toml", ".json")


def command(
    text: Annotated[
        str,
        typer.Argument(
            metavar="SYSTEM|CLASS",
            help="System file, or class such as my_module:Mine.",
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """
    Check a system file, or the contract of a dispatcher or predictor class.

    Priorities and allocators are checked as well. A class is checked by simulations of a small
    synthetic log and of copies with other later jobs, which show look-ahead.
    """
    # Options of a class may name a file, too.
    if Path(text).suffix in _SYSTEM_FILES and "=" not in text:
        _check_system(text, as_json=as_json)
    else:
        _check_class(text, as_json=as_json)


def _check_system(file: str, *, as_json: bool) -> None:
    """Print what a system file has; one that is wrong is an error that names the line."""
    from cpsched import systems
    from cpsched.cli.heading import totals

    system = systems.load(file)
    if as_json:
        total = dict(zip(system.resources, system.total.tolist(), strict=True))
        queues = len(system.queues)
        print_json(
            "check", {"system": file, "nodes": system.num_nodes, "total": total, "queues": queues}
        )
        return
    nodes, queues_text = counted(system.num_nodes, "node"), counted(len(system.queues), "queue")
    echo(f"{escaped(file)}: {nodes}, {totals(system)}, {queues_text}.")


def _sentences(result: CheckResult) -> str:
    """Return what is wrong, and what to do."""
    problem = f"{result.problem.rstrip('.')}."
    return f"{problem} To pass: {result.remedy}" if result.remedy else problem


def _check_class(text: str, *, as_json: bool) -> None:
    """
    Print the result of each check of a class.

    Raises
    ------
    VerificationError
        If a check failed.
    """
    from cpsched.checks.of_class import check_class

    results = []
    for result in check_class(text):
        results.append(result)
        if as_json:
            continue
        line = f"{result.kind}: {result.check.replace('_', ' ')}"
        echo(f"passed  {line}" if not result.problem else
             escaped(f"failed  {line}: {_sentences(result)}"))  # fmt: skip
    failed = sum(bool(result.problem) for result in results)
    if as_json:
        checks = [{**asdict(result), "passed": not result.problem} for result in results]
        print_json("check", {"class": text, "failed": failed, "checks": checks})
    if failed:
        raise VerificationError(f"{text}: {failed} of {counted(len(results), 'check')} failed")
    if not as_json:
        echo(f"{counted(len(results), 'check')} passed.")
