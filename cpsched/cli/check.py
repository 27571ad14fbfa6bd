"""``cpsched check``: does a class of one's own keep its contract?"""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from cpsched.cli.options import AsJson
from cpsched.cli.output import counted, echo, escaped, print_json
from cpsched.errors import VerificationError


def command(
    text: Annotated[
        str,
        typer.Argument(metavar="CLASS", help="my_module:Mine, or a name; options after a colon."),
    ],
    as_json: AsJson = False,
) -> None:
    """
    Check a dispatcher, priority, allocator or predictor: its contract, and that it does not look
    ahead.

    A small synthetic log is simulated, and again with other futures. Prints a line for each check.
    """
    from cpsched.checks.of_class import check_class

    results = []
    for result in check_class(text):
        results.append(result)
        if as_json:
            continue
        line = f"{result.kind}: {result.check.replace('_', ' ')}"
        echo(f"passed  {line}" if not result.problem else
             escaped(f"failed  {line}: {result.problem}. To pass: {result.remedy}"))  # fmt: skip
    failed = sum(bool(result.problem) for result in results)
    if as_json:
        checks = [{**asdict(result), "passed": not result.problem} for result in results]
        print_json("check", {"class": text, "failed": failed, "checks": checks})
    if failed:
        raise VerificationError(f"{text}: {failed} of {counted(len(results), 'check')} failed")
    if not as_json:
        echo(f"{counted(len(results), 'check')} passed.")
