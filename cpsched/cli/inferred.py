"""A log without a system for ``cpsched compare``: it runs on one inferred from the log."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cpsched.cli.output import echo, escaped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cpsched.report.results_table import ResultsTable
    from cpsched.study.inferred_system import InferredSystem

#: What is compared where no dispatchers are given; the first is what others are compared with.
DISPATCHERS = (
    *("easy", "fifo", "easy:backfill=sjf", "conservative"),
    *("easy:order=slowdown,estimate=requested", "easy-wsept"),
)
#: Other values that a first look at a log has, by their names in a study file.
DEFAULTS: Mapping[str, Any] = {
    "dispatchers": DISPATCHERS,
    "allocator": "first-fit",
    "repeat": 5,
    "skip_bad_lines": True,
}


@dataclass(frozen=True)
class InferredLog:
    """
    A log with the system inferred from it.

    Attributes
    ----------
    system
        What is assumed, and why.
    name
        The name of the system, or its file in the study's folder.
    options
        Options with which the log is read.
    """

    log: str
    system: InferredSystem
    name: str
    options: tuple[str, ...]

    def print_assumptions(self) -> None:
        """Print what is assumed of the system."""
        for remark in self.system.remarks:
            echo(escaped(f"inferred system of {self.log}: {remark}"))
        if not self.system.known:
            echo(
                escaped(f"inferred system of {self.log}: {self.name} (edit it if a value is wrong)")
            )

    def print_next_steps(self, table: ResultsTable) -> None:
        """Print the commands that lead on from a first look at a log."""
        from cpsched.cli.heading import say

        echo("")
        on = shlex.join([self.log, *self.options, "--system", self.name])
        baseline, compared = nearest(table), table.study.baseline.dispatcher
        if baseline and baseline != compared:
            say(
                f"{baseline} agrees with the recorded waits, {compared} does not. Use {baseline} as"
                " the baseline if the site runs it."
            )
        named = f" -d {shlex.quote(baseline)}" if baseline else ""
        echo("Next:")
        echo(f"  cpsched what-if {on}{named} --change 'scale-load 1.1' --out what-if")
        if baseline:
            echo(f"  cpsched validate {on}{named} --out validation")


def inferred_logs(logs: Sequence[str], log_format: str | None, out: Path) -> list[InferredLog]:
    """
    Infer the system of each log, and write those that have no name into the study's folder.

    Raises
    ------
    ConfigError
        If a log cannot be read.
    RunError
        If the folder is not that of a study.
    """
    from cpsched.cli.progress import reading
    from cpsched.logs import read
    from cpsched.study.inferred_system import infer_system
    from cpsched.study.store import Store
    from cpsched.study.study import log_name
    from cpsched.util.atomic_files import replacing, subfolder

    inferred = []
    for log in logs:
        with reading(log):
            workload = read(log, format=log_format, skip_bad_lines=True)
        system, name = infer_system(workload), ""
        if system.known:
            name = system.system
        else:
            # Before anything is written there: this refuses a folder that is not a study.
            Store(out.absolute())
            path = subfolder(out, "inputs") / f"inferred-{log_name(Path(log))}.toml"
            with replacing(path) as partial:
                partial.write_text(system.system, encoding="utf-8")
            name = str(path)
        options = [] if log_format is None else ["--input-format", log_format]
        if "bad line" in dict(workload.set_aside):
            options.append("--skip-bad-lines")
        inferred.append(InferredLog(log, system, name, tuple(options)))
    return inferred


def nearest(table: ResultsTable) -> str:
    """Return the dispatcher nearest to recorded waits, the baseline if it agrees; else nothing."""
    from cpsched.metrics.validation import wait_pairs
    from cpsched.report.record import misfit
    from cpsched.study import load_run

    runs = table.study.runs
    rows = [row for row in table.record if row["kind"] == "all"]
    if not rows or misfit(runs[0]):
        return ""
    baseline = str(rows[0]["dispatcher"])
    if rows[0]["grade"] != "poor":
        return baseline
    errors = {}
    first = {run.dispatcher: run.path for run in reversed(runs) if run.dispatcher != baseline}
    for name, path in first.items():
        schedule = load_run(path).schedule
        pairs = wait_pairs(schedule, schedule.workload.submit >= 0)
        if len(pairs.rows) and (waits := pairs.errors()).grade != "poor":
            errors[name] = abs(waits.simulated - waits.recorded)
    return min(errors, key=lambda name: errors[name], default="")
