"""What stands above a table: which jobs, which machine, what was left out; and its width."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.mapping import Fitted


def heading(fitted: Fitted, summary: Mapping[str, Any]) -> str:
    """Return the lines that say what was simulated."""
    workload, system = fitted.workload, fitted.system
    days = (int(workload.submit[-1]) - int(workload.submit[0])) / 86400
    kinds = zip(system.resources, system.total.tolist(), strict=True)
    totals = ", ".join(f"{total:,} {kind}" for kind, total in kinds if kind != "mem")
    nodes = "1 pool" if system.num_nodes == 1 else f"{system.num_nodes:,} nodes"
    lines = [
        f"{workload.title}: {len(workload):,} jobs submitted over {days:,.1f} days",
        f"on {system.title}: {nodes}, {totals}",
    ]
    counts = summary["counts"]
    set_aside: Mapping[str, int] = counts["set_aside"]
    for reason, number in set_aside.items():
        lines.append(f"set aside: {number:,} rows of the log ({reason})")
    if counts["rejected"]:
        row, reason = fitted.rejected[0]
        job = workload.job_id[row]
        lines.append(
            f"rejected: {counts['rejected']:,} jobs that can never run here"
            f" (the first: job {job}, {reason})"
        )
    return "\n".join(lines)


def width() -> int:
    """Return how wide a table may be: the terminal's width, or 120 where there is none."""
    return (
        max(80, shutil.get_terminal_size().columns)
        if sys.stdout is not None and sys.stdout.isatty()
        else 120
    )
