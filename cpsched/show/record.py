"""What a log records of its own past beside what is simulated: is the site reproduced at all?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpsched.show.findings import span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cpsched.study.results import RunResult

#: A log whose jobs used more than the whole machine for this share of the time does not fit it.
_OFTEN = 0.05
#: A mean wait within this factor of the recorded one is called close to it.
_CLOSE = 1.25


def misfit(run: RunResult) -> str:
    """Say that a log's jobs cannot all have run on the machine; empty if they can."""
    use = run.record.get("recorded_use")
    if use is None or use["over"] < _OFTEN:
        return ""
    mean, peak, over = (f"{100 * use[name]:,.0f} %" for name in ("mean", "peak", "over"))
    return (
        f"the log and the system file do not fit: by its own starts the log used {mean} of the"
        f" machine's cores on average ({peak} at the peak, above 100 % for {over} of the time), so"
        " nothing here says what the site would have seen"
    )


def reproduced(run: RunResult, name: str) -> Iterator[str]:
    """
    Say how a run's mean wait compares with the recorded one, and whether the log fits the machine.

    Parameters
    ----------
    name
        Of the run.
    """
    if wrong := misfit(run):
        yield wrong
    recorded, wait = run.record["recorded_wait_s"]["mean"], run.figures.get("wait_mean_s")
    if recorded is None or wait is None:
        return
    values = f"mean wait of {name} {span(wait)}, recorded in the log {span(recorded)}"
    if max(wait, recorded) <= _CLOSE * min(wait, recorded):
        yield f"{values}: close, by this figure (cpsched slurm fidelity compares every start)"
    else:
        yield f"{values}: not reproduced, so all this is of the simulated machine, not of the site"
