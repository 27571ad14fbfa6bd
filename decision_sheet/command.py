"""``cpsched sheet``: one page of a what-if study."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from cpsched.api.commands import STUDY, AsJson, echo, escaped, print_json
from cpsched.api.errors import RunError


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("sheet", rich_help_panel=STUDY)(command)


def command(
    folder: Annotated[
        Path, typer.Argument(metavar="STUDY_FOLDER", help="Made by cpsched what-if --out.")
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The page. [STUDY_FOLDER/sheet.html]", metavar="FILE"),
    ] = None,
    anonymous: Annotated[
        bool,
        typer.Option(
            "--anonymous", help="Numbers instead of names of users, accounts, queues and the like."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """
    Put a what-if on one printable page, for whoever decides: gain, loss, who pays, how sure.

    It says first whether the baseline is what happened, and last what was not modelled.
    """
    from cpsched.api.tools import replacing
    from decision_sheet.content import content
    from decision_sheet.page import page

    target = folder / "sheet.html" if out is None else out
    sheet = content(folder, anonymous=anonymous)
    if target.absolute().parent != folder.absolute():
        sheet = sheet.elsewhere()
    try:
        with replacing(target.absolute()) as partial:
            partial.write_text(page(sheet), encoding="utf-8")
    except OSError as error:
        raise RunError(f"{target} cannot be written: {error.strerror or error}") from error
    if as_json:
        print_json("sheet", {"file": str(target), **asdict(sheet)})
    else:
        echo(f"Sheet: {escaped(str(target))}")
