"""What a report says in words: what stands out, what was simulated, what was left out."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from cpsched.figures.figure_set import excluded
from cpsched.study.comparisons import LOWER, SEEDS_ONLY, UNCLEAR, UNKNOWN, base_name
from cpsched.study.results import AREA
from cpsched.words import counted, duration

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cpsched.figures import RunData
    from cpsched.report.choose import Place
    from cpsched.study import SavedRun
    from cpsched.study.results import Results
    from cpsched.study.study import Baseline
    from cpsched.study.tables import Cell, Tables

Row = dict[str, "Cell"]
_FIGURES = (
    (AREA, "Shortest area-weighted response"),
    ("wait_p99.9_s", "Shortest 99.9th percentile of the wait"),
    ("bounded_slowdown_mean", "Lowest mean bounded slowdown"),
)


def findings(tables: Tables, place: str) -> list[dict[str, str]]:
    """
    Return who has the least of each of the headline's figures at a place, and at which cost.

    Each has the ``title`` of the figure, ``value`` and ``who`` (how much, and whose), and two
    notes: how it compares with the baseline (``note``), and how long that run's longest wait is
    (``longest``).
    """
    rows = [row for row in tables.summary.rows() if _place(row) == place]
    # What knows the runtimes is not something that one could run, unless nothing else was.
    rows = [row for row in rows if not row["knows_runtimes"]] or rows
    differences = {
        (row["dispatcher"], row["predictor"], row["figure"]): row
        for row in tables.differences.rows()
        if _place(row) == place and row["class"] == "all"
    }
    baseline, found = tables.results.baseline, []
    for figure, title in _FIGURES:
        known = [row for row in rows if isinstance(row.get(figure), float)]
        if len(known) < 2:
            continue
        best = min(known, key=lambda row: row[figure])  # type: ignore[arg-type,return-value]
        against = differences.get((best["dispatcher"], best["predictor"], figure))
        alone = sum(row[figure] == best[figure] for row in known) == 1
        found.append(
            {
                "title": title,
                "value": _shown(figure, float(best[figure])),  # type: ignore[arg-type]
                "who": f"{best['dispatcher']} {best['predictor']}"
                + ("" if alone else " and others"),
                "note": _note(best, against, baseline),
                "longest": _longest(
                    best, differences.get((best["dispatcher"], best["predictor"], "wait_max_s"))
                ),
            }
        )
    return found


def machine(run: SavedRun) -> list[tuple[str, str]]:
    """Return what a run's machine is, as pairs of a name and a text."""
    system = run.schedule.system
    kinds = zip(system.resources, system.total.tolist(), strict=True)
    nodes = "one pool" if system.num_nodes == 1 else f"{system.num_nodes:,}"
    queues = ", ".join(system.queues) or "one, without a name"
    return [
        ("system", system.title),
        ("nodes", nodes),
        *((f"{kind} [KB]" if kind == "mem" else kind, f"{total:,}") for kind, total in kinds),
        ("queues", queues),
        ("at the requested time", {"kill": "jobs end", "extend": "jobs run on"}.get(
            run.schedule.overrun, run.schedule.overrun)),
    ]  # fmt: skip


def left_out(
    counts: Mapping[str, Any], place: Place, data: Sequence[RunData], results: Results
) -> list[str]:
    """Return what of a log is in no figure or table, a sentence each; ``counts`` are of a run."""
    said = [f"{counted(counts['in_log'], 'job')} in the log, {counts['simulated']:,} simulated."]
    for reason, number in counts["set_aside"].items():
        said.append(f"Set aside: {number:,} ({reason}).")
    for reason, number in counts["rejected_because"].items():
        said.append(f"Rejected, because they can never run here: {number:,} ({reason}).")
    said += _other_ends(place)
    seen = {run.predictor: run.not_a_forecast for run in place.runs if run.not_a_forecast}
    said += [f"Not a forecast: {predictor} {note}." for predictor, note in seen.items()]
    if counts.get("requested_time_assumed"):
        said.append(
            f"{counted(counts['requested_time_assumed'], 'job')} named no time; the default was"
            " assumed."
        )
    said.append(
        "Box plots of slowdowns and waits leave out jobs that never waited (slowdown 1, wait 0):"
        f" {excluded(data)} Tables have all jobs that ended."
    )
    if len(results.runs) > len({(r.dispatcher, r.predictor, r.workload, r.system)
                                for r in results.runs}):  # fmt: skip
        said.append(
            f"Figures and schedules are of one repetition (seed {place.runs[0].seed}), tables are"
            " means over all."
        )
    return said


#: What a verdict adds to a difference.
_SURE = {
    LOWER: ", every interval agrees",
    LOWER + SEEDS_ONLY: ", in the repetitions",
    UNCLEAR: ", which is not certain",
    UNKNOWN: "; one run each, no interval",
}
#: What may become of a job besides being completed.
_ENDINGS = {
    "timeout": "cut at the requested time (in the figures)",
    "cancelled": "cancelled in the queue (in no figure)",
    "not_ended": "not ended (in no figure of jobs)",
}


def _other_ends(place: Place) -> list[str]:
    """Say what else than completion became of jobs: once if it is the same under all runs."""
    runs = {}
    for one in place.runs:
        parts = [f"{one.counts[k]:,} {w}" for k, w in _ENDINGS.items() if one.counts[k]]
        runs[f"{one.dispatcher} {one.predictor}"] = ", ".join(parts)
    if len(set(runs.values())) == 1:
        common = next(iter(runs.values()))
        return [f"Under every dispatcher: {common}."] if common else []
    return [f"Under {who}: {what}." for who, what in runs.items() if what]


def _place(row: Row) -> str:
    return f"{row['workload']} on {row['system']}"


def _shown(figure: str, value: float) -> str:
    if figure != "bounded_slowdown_mean":
        return duration(value)
    return f"{value:,.{0 if value >= 1000 else 1 if value >= 100 else 2}f}"


def _longest(row: Row, against: Row | None) -> str:
    value = row["wait_max_s"]
    said = f"longest wait {duration(value)}" if isinstance(value, float) else "no wait known"
    return said if against is None else f"{said}, {_against(against)}"


def front(tables: Tables, place: str) -> str:
    """Say which runs are on the Pareto front at a place; nothing where there is none."""
    rows = [row for row in tables.summary.rows() if _place(row) == place]
    said = []
    for knows, of in ((False, "of these three"), (True, "of the runs that know the runtimes")):
        names = [
            f"{row['dispatcher']} {row['predictor']}"
            for row in rows
            if row["on_front"] and row["knows_runtimes"] is knows
        ]
        if names and len(rows) > 1:
            said.append(f"On the Pareto front {of}: {', '.join(names)}.")
    return " ".join(said)


def _note(best: Row, against: Row | None, baseline: Baseline) -> str:
    if against is not None:
        return _against(against)
    if all(name in (None, best[part]) for part, name in asdict(baseline).items()):
        return "the baseline itself"
    return "the baseline's run is not there"


def _against(row: Row) -> str:
    """Say how a figure differs from the baseline's, and whether that is sure."""
    base = base_name(row)
    value, other = row["value"], row["base_value"]
    if not isinstance(value, float) or not isinstance(other, float) or not other:
        return f"against {base}"
    change = 100 * (value / other - 1)
    said = f"{change:+.0f} % against {base}".replace("-", "\N{MINUS SIGN}", int(change < 0))
    return said + _SURE.get(str(row["verdict"]), "")
