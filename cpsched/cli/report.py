"""``cpsched report``: tables, figures and one HTML file of finished runs, or a one-page summary."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from cpsched.cli.options import STUDY, AsJson
from cpsched.cli.output import complain, counted, echo, escaped, print_json
from cpsched.cli.progress import steps
from cpsched.errors import ConfigError

#: Most runs that a note names.
_NAMED = 3


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("report", rich_help_panel=STUDY)(command)


def command(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR",
            help="Folder that compare, what-if or simulate wrote, or test in that of tune.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder for report and tables. [DIR]", metavar="DIR"),
    ] = None,
    form: Annotated[
        Literal["svg", "png", "pdf"] | None,
        typer.Option("--export", help="Format of the figures. [svg]"),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(help="Dispatcher to compare with.", metavar="NAME"),
    ] = None,
    summary: Annotated[
        bool, typer.Option("--summary", help="Write summary.html, one page to print, instead.")
    ] = False,
    author: Annotated[
        str | None, typer.Option(help="Author of the summary.", metavar="NAME")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write tables, figures and a report (one HTML file) of finished runs."""
    from cpsched.report.html.make import make_report, make_summary
    from cpsched.study.results import other_runs

    if others := other_runs(folder):
        names = ", ".join(run.name for run in others[:_NAMED])
        more = f" and {len(others) - _NAMED} more" if len(others) > _NAMED else ""
        complain(
            f"the report leaves out {counted(len(others), 'run')} in {folder / 'runs'} that the"
            f" study did not make: {names}{more}. Compare them in Python: compare_runs().",
            "note",
        )
    if summary:
        if form is not None:
            raise ConfigError(
                "applies to the report's figures. Leave it out with --summary.", key="--export"
            )
        page = make_summary(folder, out=out, baseline=baseline, author=author or "")
        if as_json:
            print_json("report", {"summary": str(page)})
        else:
            echo(f"Summary: {escaped(str(page))}")
        return
    if author is not None:
        raise ConfigError("applies to the summary. Add --summary.", key="--author")
    with steps() as progress:
        report = make_report(
            folder, out=out, form=form or "svg", baseline=baseline, progress=progress
        )
    if as_json:
        places = {"report": report.page, "figures": report.page.parent / "figures"}
        places["tables"] = report.page.parent / "tables"
        print_json(
            "report", {"runs": report.runs, **{key: str(path) for key, path in places.items()}}
        )
        return
    size = report.page.stat().st_size / 1e6
    echo(f"{counted(report.runs, 'run')}, {counted(len(report.figures), 'figure')}")
    echo(f"Report:  {escaped(str(report.page))} ({size:.1f} MB)")
    echo(f"Figures: {escaped(str(report.page.parent / 'figures'))}")
    echo(f"Tables:  {escaped(str(report.page.parent / 'tables'))}")
