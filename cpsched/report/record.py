"""What a log records of its own past beside what is simulated: is the site reproduced at all?"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from cpsched.report.findings import ratio_of, span
from cpsched.study.results import case_of
from cpsched.util.words import counted, estimate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from cpsched.study.results import RunResult
    from cpsched.study.tables import Tables

#: A log whose jobs used more than the whole machine for this share of the time does not fit it.
_OFTEN = 0.05
#: Groups of jobs in changes: ``queue=short`` or ``partition.short.MaxTime``.
_NAMED = re.compile(r"\b(queue|partition|account|user|qos)[=.]([\w-]+)")
#: What each grade means for what is compared.
_MEANS = {
    "closely": "",
    "roughly": ": take directions and large differences from it, not numbers",
    "not": ", so all this is of the simulated system, not of the site",
}


def misfit(run: RunResult) -> str:
    """Say that a log's jobs cannot all have run on the machine; empty if they can."""
    use = run.record.get("recorded_use")
    if use is None or use["over"] < _OFTEN:
        return ""
    mean, peak, over = (f"{100 * use[name]:,.0f} %" for name in ("mean", "peak", "over"))
    return (
        "the log and the system do not fit: by their own starts the jobs that can run here used"
        f" {mean} of its cores on average ({peak} at the peak, above 100 % for {over} of the time),"
        " so nothing here says what the site would have seen"
    )


def reproduced(tables: Tables, place: str) -> Iterator[str]:
    """Say whether the baseline at a place reproduces the record, and the log fits the machine."""
    run = next(run for run in tables.results.runs if run.case == place)
    if wrong := misfit(run):
        # Whether waits are alike means nothing then.
        yield wrong
        return
    row = next((one for one in tables.record.rows() if case_of(one) == place), None)
    if row is not None:
        how = {"not": "does not reproduce the recorded waits"}.get(
            row["reproduced"], f"reproduces the recorded waits {row['reproduced']}"
        )
        name = "the baseline" if tables.results.by_group else row["dispatcher"]
        if len({one.predictor for one in tables.results.runs}) > 1:
            name += f" with {estimate(row['predictor'])}"
        several = len({one.seed for one in tables.results.runs if one.case == place}) > 1
        which = "; the first repetition" if several else ""
        yield f"{name} {how} ({_waits(row)}{which}){_MEANS[row['reproduced']]}"
    elif tables.results.by_group and run.record:
        yield "the log records no starts, so nothing says how close the baseline is to the site"


def of_groups(tables: Tables, changes: Iterable[str], most: tuple[str, str] | None) -> str:
    """Name the groups not reproduced that changes name, or whose waits change most (``most``)."""
    named = {match for text in changes for match in _NAMED.findall(text)}
    rows = tables.record.rows()
    if misfit(tables.results.runs[0]) or any(
        (row["kind"], row["reproduced"]) == ("all", "not") for row in rows
    ):
        # It is said of all jobs already.
        return ""
    return "".join(
        f"; of {row['kind']} {row['group']} the recorded waits are not reproduced ({_waits(row)})"
        for row in rows
        if row["reproduced"] == "not"
        and ((row["kind"].lower(), row["group"]) in named or (row["kind"], row["group"]) == most)
    )


def _waits(row: dict[str, Any]) -> str:
    seconds = [row[f"{one}_wait_mean_s"] for one in ("simulated", "recorded")]
    simulated, recorded = map(span, seconds)
    held = row["held_mean_s"]
    off = ratio_of(*(one - held for one in seconds)) - 1
    if abs(off) <= 1:
        without = f", without the {span(held)} before jobs may start" if held >= 1 else ""
        recorded += f" ({100 * off:+.0f} %{without})"
    lag = f" with {row['lag_s']} s from decision to start" if row["lag_s"] else ""
    near = f"{100 * row['within_10_min']:.0f} %"
    never = row.get("never_started", 0)
    lost = f", {counted(never, 'job')} that ran as recorded can never start" if never else ""
    return (
        f"mean wait from submit simulated {simulated}{lag}, recorded {recorded}; {near} of the jobs"
        f" start within ten minutes of their recorded start{lost}"
    )
