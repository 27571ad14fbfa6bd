"""``cpsched bench``: compare dispatchers and predictors on a fixed set of logs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cpsched.cli.heading import say, width
from cpsched.cli.options import STUDY, AsJson, Executor, Workers
from cpsched.cli.output import counted, echo, escaped, print_json
from cpsched.errors import RunError
from cpsched.util.atomic_files import write_all
from cpsched.util.terminal import table_text

if TYPE_CHECKING:
    from cpsched.study.bench.logset import LogSet

Logs = Annotated[
    list[Path] | None,
    typer.Option("--logs", help="Folder with the archive logs.", metavar="DIR"),
]
#: Failed runs that are named.
_MOST_FAILED = 5


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("bench", rich_help_panel=STUDY)(command)


def command(
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder for runs and tables.", metavar="DIR")
    ] = None,
    logs: Logs = None,
    track: Annotated[
        list[str] | None,
        typer.Option(help="Track (repeatable). [all three]", metavar="NAME"),
    ] = None,
    dispatcher: Annotated[
        list[str] | None,
        typer.Option("--dispatcher", "-d", help="Dispatcher to enter.", metavar="SPEC"),
    ] = None,
    predictor: Annotated[
        list[str] | None,
        typer.Option("--predictor", "-p", help="Predictor to rank in the track 'predicted'.",
                     metavar="SPEC"),
    ] = None,
    version: Annotated[
        str, typer.Option("--set", help="Version of the benchmark set.", metavar="NAME")
    ] = "v2",
    quick: Annotated[
        bool, typer.Option("--quick", help="Run two repetitions only.")
    ] = False,
    workers: Workers = 1,
    executor: Executor = None,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """
    Rank dispatchers and predictors on a fixed set of job logs.

    Without --out, print the logs of the set and which are available. Bundled and generated logs
    always are. Archive logs are read from the folder --logs. An interrupted run resumes.
    """
    from cpsched.cli.progress import steps, study_bars
    from cpsched.study.bench.bench import Bench, BenchEntry
    from cpsched.study.bench.logset import KNOWLEDGE, QUICK, LogSet

    logset = LogSet.load(version)
    if out is None:
        _describe(logset, logs or [], as_json=as_json)
        return
    if quick:
        logset = logset.model_copy(update={"seeds": QUICK})
    folder = out.absolute()
    with steps() as watch:
        bench = Bench.prepare(
            folder,
            logset,
            tracks=track or KNOWLEDGE,
            folders=logs or [],
            entries=[
                *(BenchEntry.of("dispatchers", text) for text in dispatcher or ()),
                *(BenchEntry.of("predictors", text) for text in predictor or ()),
            ],
            watch=watch,
        )
    with study_bars() as display:
        failed = bench.carry_out(
            folder,
            jobs=workers,
            display=display,
            executor=executor,
        )
    _show(folder, as_json=as_json)
    if failed:
        for line in failed[:_MOST_FAILED]:
            echo(f"failed: {escaped(line)}")
        raise RunError(f"{counted(len(failed), 'run')} failed. The same command repeats them.")


def _describe(logset: LogSet, places: list[Path], *, as_json: bool) -> None:
    """Print the logs and tracks of a set, and which logs are available."""
    from cpsched.study.bench.log_windows import check_content, find_logs

    paths = find_logs(logset.logs, places)
    for log in logset.logs:
        if log.name in paths:
            check_content(log, paths[log.name])
    at_hand = [not log.file or log.name in paths for log in logset.logs]
    if as_json:
        logs = [
            {**log.model_dump(), "at_hand": there}
            for log, there in zip(logset.logs, at_hand, strict=True)
        ]
        tracks = {name: track.title for name, track in logset.tracks.items()}
        print_json("bench", {"set": logset.version, "tracks": tracks, "logs": logs})
        return
    sources = [log.source or ("bundled" if log.bundled else "generated") for log in logset.logs]
    echo(f"Set {logset.version}: {sum(at_hand)} of {counted(len(at_hand), 'log')} available\n")
    rows = [
        [log.name, "yes" if there else "-", log.file or "-", source, f"{(log.rows or (0,))[0]:,}"]
        for log, there, source in zip(logset.logs, at_hand, sources, strict=True)
    ]
    headers = ["log", "available", "file", "source", "earlier jobs"]
    echo(table_text(headers, rows, width=width(), names=4))
    echo("")
    echo("Tracks")
    for name, track in logset.tracks.items():
        echo(f"  {name:<14} {track.title}")
    echo("")
    echo("To run the set: cpsched bench --logs DIR --out FOLDER -d my_package:Mine")


def _show(folder: Path, *, as_json: bool) -> None:
    """Write and print the tables."""
    from cpsched.cli.bench_scores import files_of, scored
    from cpsched.report.terminal import view_text
    from cpsched.study.bench.bench import about, notes

    tracks = scored(folder)
    write_all(folder, files_of(tracks))
    if as_json:
        print_json(
            "bench",
            {"folder": str(folder), "tracks": [scored_track.as_data() for scored_track in tracks]},
        )
        return
    for note in notes(about(folder)):
        say(f"Note: {note}")
    for scored_track in tracks:
        echo("")
        echo(f"{scored_track.track.name}: {scored_track.track.title}")
        echo("")
        echo(view_text(scored_track.view(full=False), width()))
        echo("")
        for line in scored_track.sentences():
            say(escaped(line))
    echo("")
    echo(f"Tables: {escaped(str(folder))}")
