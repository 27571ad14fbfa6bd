"""Options several commands share."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cpsched.errors import ConfigError

if TYPE_CHECKING:
    from cpsched.model.workload import Workload

WorkloadFile = Annotated[
    Path, typer.Argument(metavar="WORKLOAD", help="A job log; SWF, PBS, sacct, CSV or Parquet.")
]
Format = Annotated[
    str | None,
    typer.Option("--format", help="Format of the log, if its content does not determine it."),
]
SkipBadLines = Annotated[
    bool,
    typer.Option("--skip-bad-lines", help="Skip and count invalid lines."),
]
First = Annotated[
    int | None, typer.Option("--first", min=1, help="Only the first N jobs.", metavar="N")
]
From = Annotated[
    str | None,
    typer.Option("--from", help="Only jobs submitted from this time on: seconds or a date (UTC)."),
]
To = Annotated[
    str | None,
    typer.Option("--to", help="Only jobs submitted earlier: seconds or a date (UTC)."),
]
SystemName = Annotated[
    str, typer.Option("--system", help="A system by name or TOML file (cpsched list systems).")
]
EnforceLimits = Annotated[
    bool,
    typer.Option(
        "--enforce-limits/--no-enforce-limits",
        help="Reject jobs that ask for more time than their queue allows.",
    ),
]
OverrunRule = Literal["kill", "extend"]
Overrun = Annotated[
    OverrunRule,
    typer.Option("--overrun", help="At the requested time: kill, or extend (run on as recorded)."),
]
CorrectionRule = Literal["requested", "double"]
Correction = Annotated[
    CorrectionRule,
    typer.Option("--correction", help="Expected end of a job that outlives its prediction."),
]
RuntimeModel = Annotated[
    str,
    typer.Option(
        "--runtime-model",
        help="How long jobs run: recorded (as in the log) or gpu-scaling; NAME:KEY=VALUE,...",
    ),
]


def read_workload(
    path: Path,
    format_name: str | None,
    skip_bad_lines: bool,
    first: int | None = None,
    start: str | None = None,
    end: str | None = None,
) -> Workload:
    """Read a log and cut it as the options say."""
    from cpsched import traces

    workload = traces.read(path, format=format_name, skip_bad_lines=skip_bad_lines)
    cut = workload.select(
        first=first,
        start=second_of(workload, "--from", start),
        end=second_of(workload, "--to", end),
    )
    if not len(cut):
        raise ConfigError("no jobs are left after --first, --from and --to", where=path)
    return cut


def second_of(workload: Workload, option: str, text: str | None) -> int | None:
    """Turn seconds since the log's epoch, or a date, into seconds since the epoch."""
    if text is None:
        return None
    try:
        return int(text)
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ConfigError(
            f"'{text}' is neither seconds nor a date like 2014-03-31 or 2014-03-31T12:00",
            key=option,
        ) from None
    if workload.epoch is None:
        raise ConfigError(
            "the log does not say when its second 0 was; give seconds instead of a date",
            key=option,
        )
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return int(moment.timestamp()) - workload.epoch
