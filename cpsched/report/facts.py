"""The inputs of a report: what was simulated, and what was left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cpsched.base.words import amount, counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.report.places import Place
    from cpsched.study import SavedRun
    from cpsched.study.results import Results


def machine(run: SavedRun) -> list[tuple[str, str]]:
    """Describe a run's machine as pairs of a name and a text."""
    system = run.schedule.system
    kinds = zip(system.resources, system.total.tolist(), strict=True)
    nodes = "one pool" if system.num_nodes == 1 else f"{system.num_nodes:,}"
    queues = ", ".join(system.queues) or "one, unnamed"
    return [
        ("system", system.title),
        ("nodes", nodes),
        *((kind, amount(kind, total).removesuffix(f" {kind}")) for kind, total in kinds),
        ("queues", queues),
        ("at the requested time", {"kill": "jobs end", "extend": "jobs run on"}.get(
            run.schedule.overrun, run.schedule.overrun)),
    ]  # fmt: skip


def left_out(counts: Mapping[str, Any], place: Place, results: Results) -> list[str]:
    """
    Return a sentence for each part of a log that is in no figure or table; ``counts`` are of a run.
    """
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
            f"{counted(counts['requested_time_assumed'], 'job')} had no requested time; the"
            " default was assumed."
        )
    if len(results.runs) > len({(r.dispatcher, r.predictor, r.workload, r.system)
                                for r in results.runs}):  # fmt: skip
        said.append(
            "Charts over time, distributions and schedules show one repetition (seed"
            f" {place.runs[0].seed}); tables, ratios and intervals cover all."
        )
    return said


#: Fates of a job other than completion.
_ENDINGS = {
    "timeout": "killed at the requested time (in the figures)",
    "cancelled": "cancelled in the queue (in no figure)",
    "not_ended": "not ended (in no figure of jobs)",
}


def _other_ends(place: Place) -> list[str]:
    """Describe the other fates of jobs, once if they are the same in all runs."""
    runs = {}
    for one in place.runs:
        parts = [f"{one.counts[k]:,} {w}" for k, w in _ENDINGS.items() if one.counts[k]]
        runs[f"{one.dispatcher} {one.predictor}"] = ", ".join(parts)
    if len(set(runs.values())) == 1:
        common = next(iter(runs.values()))
        return [f"Under every dispatcher: {common}."] if common else []
    return [f"Under {who}: {what}." for who, what in runs.items() if what]
