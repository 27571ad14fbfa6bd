"""The baseline against the waits that a log records, and whether the log fits the system."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cpsched.study.results import case_of, run_of
from cpsched.util.words import counted, duration, escaped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cpsched.report.results_table import ResultsTable
    from cpsched.study.results import RunResult

#: A log whose jobs used more than the whole system for this share of the time does not fit it.
_OFTEN = 0.05
#: Most groups named.
_MOST = 6
#: What each grade of the agreement with recorded waits means for a comparison.
_MEANINGS = {
    "good": "",
    "moderate": " Read differences between runs as trends.",
    "poor": " The results hold for the simulated system only.",
}


def misfit(run: RunResult) -> str:
    """Return that a log's jobs cannot all have run on the system; empty if they can."""
    use = run.record.get("recorded_use")
    if use is None or use["over"] < _OFTEN:
        return ""
    mean, peak, over = (f"{100 * use[name]:,.0f} %" for name in ("mean", "peak", "over"))
    return (
        f"The log does not fit the system: by their recorded starts, its jobs used {mean} of the"
        f" cores on average and {peak} at the peak. They used more than all cores for {over} of the"
        " time. The results hold for the simulated system only."
    )


def agrees_poorly(table: ResultsTable) -> bool:
    """Return whether a baseline agrees poorly with recorded waits, or a log has a misfit."""
    grades = [row["grade"] for row in table.record if row["kind"] == "all"]
    return "poor" in grades or any(map(misfit, table.study.runs))


def validation_lines(table: ResultsTable, case: str) -> Iterator[str]:
    """Yield how well the baseline of a case agrees with the recorded waits, if there are any."""
    run = next(run for run in table.study.runs if run.case == case)
    if wrong := misfit(run):
        yield wrong
        return
    row = next((row for row in table.record if case_of(row) == case), None)
    if row is None:
        if table.study.by_group and run.record:
            yield "No recorded start times in the log: the baseline cannot be validated."
        return
    grade = row["grade"]
    name = "baseline" if table.study.by_group else escaped(table.name(run_of(row)))
    yield f"Agreement with recorded waits, {name}: {grade}. {_waits(row)}.{_MEANINGS[grade]}"
    worse = [row for row in table.record if case_of(row) == case and row["much_worse"]]
    if worse and grade != "poor":
        worse.sort(key=lambda row: -row["jobs"] * abs(_bias(row)))
        names = [escaped(f"{row['kind']} {row['group']}") for row in worse[:_MOST]]
        more = " and more" if len(worse) > _MOST else ""
        yield f"Results do not hold for (poor agreement): {', '.join(names)}{more}."


def _bias(row: dict[str, Any]) -> float:
    bias: float = row["simulated_wait_mean_s"] - row["recorded_wait_mean_s"]
    return bias


def _waits(row: dict[str, Any]) -> str:
    simulated, recorded = (
        duration(row[f"{name}_wait_mean_s"]) for name in ("simulated", "recorded")
    )
    held = row["held_mean_s"]
    before = f", of which {duration(held)} before jobs may start" if held >= 1 else ""
    lag = f", {row['lag_s']} s from decision to start" if row["lag_s"] else ""
    never = row.get("never_started", 0)
    lost = f". {counted(never, 'recorded job')} can never start" if never else ""
    return (
        f"Mean wait: simulated {simulated}{lag}, recorded {recorded}{before}. Within ten minutes of"
        f" their recorded start: {100 * row['within_10_min']:.0f} % of the jobs{lost}"
    )
