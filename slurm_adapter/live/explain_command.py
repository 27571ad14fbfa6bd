"""``cpsched slurm explain``: why a job of a live queue waits."""

from __future__ import annotations

from typing import Annotated

import typer

from cpsched.api.commands import AsJson, Predictor, echo, print_json
from slurm_adapter.live.commands import (
    RecordFolder,
    Scenarios,
    SystemFile,
    backend_of,
    machine_of,
)


def command(
    job: Annotated[str, typer.Argument(metavar="JOB", help="Its id; 12_3 for a task of an array.")],
    system: SystemFile = None,
    dispatcher: Annotated[
        str,
        typer.Option(
            "--dispatcher", "-d", help="The dispatcher; slurm:policy=FILE stands for Slurm itself."
        ),
    ] = "slurm",
    predictor: Predictor = "requested",
    record: RecordFolder = None,
    scenarios: Scenarios = 20,
    as_json: AsJson = False,
) -> None:
    """Say why a job of a live Slurm waits, when it will start, and what to change."""
    from cpsched.api.commands import width
    from cpsched.api.studies import JobState, changes, labelled, summary, text
    from cpsched.api.tools import build
    from slurm_adapter.live.explain import explain, slurms_view
    from slurm_adapter.live.when import record_in, when

    build("dispatchers", dispatcher)
    slurm = backend_of()
    machine, snapshot = machine_of(system, slurm), slurm.snapshot()
    view = slurms_view(snapshot, job, slurm.expected_starts().get(job))
    about = explain(snapshot, machine, job, dispatcher=dispatcher, predictor=predictor)
    past = record_in(record)
    ahead = None
    if about.state is not JobState.STARTS:
        ahead = when(
            snapshot, machine, dispatcher=dispatcher, job=job, record=past, scenarios=scenarios
        )
    if as_json:
        forecast = None if ahead is None else ahead.to_dict()
        print_json("explain", {**about.to_dict(), "slurm": view, "forecast": forecast})
        return
    echo(text(about, width()))
    lines = [("Slurm", f"{view['state']}, reason {view['reason']}")]
    if ahead is not None:
        lines += [("forecast", summary(ahead))]
        told = changes(ahead) or ["neither less time nor fewer nodes would start it earlier"]
        lines += [("" if at else "change", change) for at, change in enumerate(told)]
    echo("")
    for label, line in lines:
        echo("\n".join(labelled(label, line, width())))
