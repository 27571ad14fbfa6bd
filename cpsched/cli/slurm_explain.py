"""``cpsched slurm explain``: why a job of a live Slurm waits."""

from __future__ import annotations

from typing import Annotated

import typer

from cpsched.cli.options import AsJson, grouped
from cpsched.cli.output import echo, print_json
from cpsched.cli.slurm_queue import Now, OpenMetrics, backend_of, sentence_on_policy, write_metrics


@grouped
def command(
    job: Annotated[
        str, typer.Argument(metavar="JOB", help="Job id, such as 12_3 for an array task.")
    ],
    *,
    now: Now,
    openmetrics: OpenMetrics = None,
    as_json: AsJson = False,
) -> None:
    """Explain why a job of a live Slurm waits, when it starts, and what would help."""
    from cpsched.cli.heading import width
    from cpsched.forecast.explanation import JobState
    from cpsched.forecast.openmetrics import forecast_metrics
    from cpsched.forecast.when_text import changes, summary
    from cpsched.forecast.why_text import labelled, text

    with now.queue() as (queue, remark):
        view = queue.slurms_view(job, backend_of().expected_starts().get(job))
        about = queue.why(job)
        starts = about.state is JobState.STARTS
        ahead = None if starts else queue.when(job, scenarios=now.scenarios)
    write_metrics(openmetrics, [] if ahead is None else forecast_metrics(ahead, "explained_"))
    notes = queue.notes(job)
    if as_json:
        forecast = None if ahead is None else ahead.to_dict()
        more = {"slurm": view, "forecast": forecast, "policy": remark or None, "notes": notes}
        print_json("explain", {**about.to_dict(), **more})
        return
    echo(text(about, width()))
    lines = [("Slurm", f"{view['state']}, reason {view['reason']}")]
    if ahead is not None:
        lines += [("forecast", summary(ahead))]
        advice = changes(ahead) or ["neither a shorter time limit nor a smaller size helps"]
        lines += [("" if at else "change", change) for at, change in enumerate(advice)]
    lines += [("note", note) for note in notes]
    if remark:
        lines.append(("policy", sentence_on_policy(remark)))
    echo("")
    for label, line in lines:
        echo("\n".join(labelled(label, line, width())))
