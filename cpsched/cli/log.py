"""``cpsched log``: inspect, convert and generate job logs."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cpsched.cli.options import AsJson, Force, Log, grouped
from cpsched.cli.output import complain, counted, echo, escaped, print_json
from cpsched.cli.progress import working
from cpsched.errors import ConfigError
from cpsched.util import registry
from cpsched.util.atomic_files import check_new_file

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cpsched.logs.generators import Generator
    from cpsched.model.workload import Workload

_NewLog = Annotated[
    Path,
    typer.Option(
        "--out",
        "-o",
        help="File to write (.csv.gz, .parquet, .sacct.gz, .swf.gz).",
        metavar="FILE",
    ),
]


@grouped
def info(log: Log, as_json: AsJson = False) -> None:
    """Describe a job log: jobs, users, sizes, runtimes and load."""
    from cpsched.metrics.workload import as_data, describe

    jobs = log.read()
    if as_json:
        print_json("log", as_data(jobs))
        return
    rows = describe(jobs)
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        echo(f"{name:<{width}}  {escaped(value)}")


@grouped
def convert(
    log: Log,
    target: Annotated[
        Path, typer.Argument(metavar="FILE", help="File to write. Its ending sets the format.")
    ],
    to_format: Annotated[
        str | None,
        typer.Option("--to-format", help="Format to write. [by the ending]", metavar="NAME"),
    ] = None,
    split: Annotated[
        str | None,
        typer.Option(
            "--split",
            help="Write a log per value of this column.",
            metavar="COLUMN",
        ),
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Convert a job log to another format, cut it, or split it."""
    from cpsched import logs

    if split is not None:
        _convert_parts(log, target, to_format, split, overwrite=force, as_json=as_json)
        return
    check_new_file(target, overwrite=force)
    jobs = log.read()
    with working(f"writing {target}"):
        lost = logs.write(jobs, target, format=to_format)
    _say_written(target, jobs, lost, as_json=as_json)


def _convert_parts(
    log: Log, target: Path, to_format: str | None, column: str, *, overwrite: bool, as_json: bool
) -> None:
    """Write one log for each value of a column, and print which file has which jobs."""
    from cpsched import logs
    from cpsched.cli.heading import width
    from cpsched.cli.log_parts import notes_of, parts_of, table_of
    from cpsched.metrics.workload import as_data

    jobs = log.read()
    parts = parts_of(jobs, column, target, overwrite=overwrite)
    notes = [f"{log.workload}: {note}" for note in notes_of(jobs, parts)]
    with working(f"writing {counted(len(parts), 'log')}"):
        for part in parts:
            lost = logs.write(part.jobs_of(jobs), part.file, format=to_format)
            notes += [f"{part.file}: {note}" for note in lost]
    for note in notes:
        complain(note, what="note")
    if as_json:
        files = [
            {"value": part.value, "file": str(part.file), "jobs": len(part.rows)} for part in parts
        ]
        print_json("log", {"split": column, "files": files, "lost": notes, **as_data(jobs)})
        return
    echo(table_of(parts, width()))


def _say_written(target: Path, jobs: Workload, lost: Iterable[str], *, as_json: bool) -> None:
    """Print how many jobs a file has, and what its format cannot hold."""
    from cpsched.metrics.workload import as_data

    notes = list(lost)
    for note in notes:
        complain(f"{target}: {note}", what="note")
    if as_json:
        print_json("log", {"file": str(target), "lost": notes, **as_data(jobs)})
        return
    echo(f"{escaped(str(target))}: {counted(len(jobs), 'job')}")


def group(generators: bool) -> typer.Typer:
    """Return the commands, with one for every registered generator if these are wanted."""
    app = typer.Typer(help="Inspect, convert and generate job logs.", no_args_is_help=True)
    app.command("info")(info)
    app.command("convert")(convert)
    generate = typer.Typer(help="Generate a synthetic job log.", no_args_is_help=True)
    app.add_typer(generate, name="generate")
    for name in registry.names("generators") if generators else ():
        try:
            generator: Generator = registry.load("generators", name)
        except ConfigError as error:
            complain(f"the generator '{name}' is ignored: {error}", "warning")
            continue
        generate.command(name, help=generator.summary)(_generate_command(generator))
    return app


def _generate_command(generator: Generator) -> Any:
    """Return a function whose parameters are the generator's options."""
    from cpsched.logs.generators import describe

    def command(out: Path, force: bool, as_json: bool, **options: Any) -> None:
        from cpsched import logs

        check_new_file(out, overwrite=force)
        with working(f"generating {out}"):
            workload = generator.generate(generator.options(**options))
            lost = logs.write(workload, out)
        _say_written(out, workload, lost, as_json=as_json)

    options: dict[str, tuple[Any, Any]] = {
        "out": (_NewLog, inspect.Parameter.empty),
        "force": (Force, False),
        "as_json": (AsJson, False),
    }
    for declared in describe(generator.options):
        kind: Any = declared.kind
        flag = typer.Option("--" + declared.name.replace("_", "-"), help=declared.doc)
        options[declared.name] = Annotated[kind, flag], declared.default
    parameters = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=default)
        for name, (kind, default) in options.items()
    ]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {item.name: item.annotation for item in parameters}
    return command
