"""What a study did not model, from what its baseline's run says of itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cpsched.api.tools import counted, read_json
from decision_sheet.names import plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cpsched.api.studies import RunResult, Tables


def about(run: RunResult, name: str = "run.json") -> dict[str, Any]:
    """Return a JSON file of a run."""
    found: dict[str, Any] = read_json((run.path / name).read_text(encoding="utf-8"))
    return found


def not_modelled(tables: Tables) -> Iterator[str]:
    """Yield in sentences what the answer leaves out, of what applies to this study."""
    base = tables.results.runs[0]
    said = about(base)
    settings, counts = said["settings"], said["counts"]
    yield "Users do not react: nobody submits more, or otherwise, because waits change."
    if settings["runtime_model"] == "recorded":
        yield (
            "Every job runs as long as in the log, wherever it is placed: no network, file system"
            " or neighbours slow it down."
        )
    else:
        yield f"Runtimes follow the model {plain(settings['runtime_model'])}, not measurements."
    if settings["outages"] == "none":
        yield "No node fails or is in maintenance, apart from what a scenario says."
    if "policy=" not in base.dispatcher_spec:
        yield (
            f"The site's priorities, limits and fair shares are not modelled: the baseline is"
            f" {plain(base.dispatcher_spec)}."
        )
    else:
        yield "What the import of the site's policy lists as not modelled is missing here, too."
    if base.allocator:
        yield f"Nodes are chosen by {base.allocator}, which may not be the site's rule."
    if counts["requested_time_assumed"]:
        assumed = counted(counts["requested_time_assumed"], "job")
        yield f"{assumed} asked for no time; the machine's default was assumed."
    for run in tables.results.runs:
        if run.knows_runtimes:
            yield f"{run.dispatcher} knows how long jobs will run, as no real scheduler does."
            break
    aside = sum(counts["set_aside"].values())
    for number, what in ((counts["rejected"], "jobs that can never run here"),
                         (counts["never_started"], "jobs that can never start"),
                         (aside, "rows of the log that are no jobs")):  # fmt: skip
        if number:
            yield f"Left out of all waits: {number:,} {what}."
    if tables.results.measure_from is None:
        yield "The machine is empty when the log begins, so the first waits are too short."
    if len({run.seed for run in tables.results.runs}) == 1:
        yield "One run each: how far seconds of a submit matter was not measured (--seeds 5)."
