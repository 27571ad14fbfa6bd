"""The lines above a table: which jobs, which machine, what was left out; and its width."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING

from cpsched.cli.output import counted, escaped

if TYPE_CHECKING:
    from cpsched.mapping import Fitted
    from cpsched.model.system import System


def heading(fitted: Fitted) -> str:
    """Return the lines that say what was simulated."""
    workload, system = fitted.workload, fitted.system
    days = (int(workload.submit[-1]) - int(workload.submit[0])) / 86400
    nodes = "1 pool" if system.num_nodes == 1 else counted(system.num_nodes, "node")
    lines = [
        f"{escaped(workload.title)}: {counted(len(workload), 'job')} submitted over"
        f" {days:,.1f} days",
        f"on {escaped(system.title)}: {nodes}, {totals(system)}",
    ]
    return "\n".join([*lines, *left_out(fitted)])


def left_out(fitted: Fitted) -> list[str]:
    """Return the lines that say which rows of a log are not simulated."""
    lines = [
        f"set aside: {counted(number, 'row')} of the log ({reason})"
        for reason, number in sorted(fitted.workload.set_aside)
    ]
    if fitted.rejected:
        row, reason = fitted.rejected[0]
        job = escaped(str(fitted.workload.job_id[row]))
        lines.append(
            f"rejected: {counted(len(fitted.rejected), 'job')} that can never run here"
            f" (the first: job {job}, {reason})"
        )
    return lines


def totals(system: System) -> str:
    """Return how much a machine has of each resource but memory."""
    kinds = zip(system.resources, system.total.tolist(), strict=True)
    return ", ".join(f"{total:,} {kind}" for kind, total in kinds if kind != "mem")


def width() -> int:
    """Return how wide a table may be: the terminal's width, or 120 where there is none."""
    return (
        max(80, shutil.get_terminal_size().columns)
        if sys.stdout is not None and sys.stdout.isatty()
        else 120
    )
