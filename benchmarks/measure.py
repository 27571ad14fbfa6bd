"""
What the benchmarks share: processes and what they cost, medians, tables, where logs lie.

A measuring process imports nothing big: Linux counts the memory of the parent at the moment of
the fork to the child's peak.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

HERE = Path(__file__).resolve().parent
ARCHIVE = "the Parallel Workloads Archive (https://www.cs.huji.ac.il/labs/parallel/workload/)"

#: The command line, whether or not its script is on the path.
CPSCHED = (sys.executable, "-m", "cpsched")


@dataclass(frozen=True)
class Usage:
    """What a process and those it waited for have cost: seconds, and MiB of the biggest."""

    cpu_s: float
    wall_s: float
    peak_mib: float


class BenchmarkError(SystemExit):
    """A benchmark cannot run; the message goes to stderr and the exit status is 1."""

    def __init__(self, message: str) -> None:
        super().__init__(f"benchmark: {message}")


def run(command: Sequence[str | Path], env: Mapping[str, str] | None = None) -> Usage:
    """
    Run a process to its end, its output kept away from the terminal.

    Raises
    ------
    BenchmarkError
        If it fails; with the command and the last lines it wrote.
    """
    argv = [str(part) for part in command]
    with tempfile.TemporaryFile("w+") as output:
        before = time.perf_counter()
        # wait4 below reaps the process, and says what it has used.
        process = subprocess.Popen(
            argv, stdout=output, stderr=subprocess.STDOUT, env={**os.environ, **(env or {})}
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - before
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            output.seek(0)
            last = "".join(output.readlines()[-8:])
            raise BenchmarkError(f"exit status {process.returncode} from: {' '.join(argv)}\n{last}")
    return Usage(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / 1024)


def answer(command: Sequence[str | Path], env: Mapping[str, str] | None = None) -> Any:
    """Run a process that prints JSON, and return what it prints."""
    argv = [str(part) for part in command]
    process = subprocess.run(
        argv, capture_output=True, text=True, env={**os.environ, **(env or {})}, check=False
    )
    if process.returncode:
        raise BenchmarkError(
            f"exit status {process.returncode}: {' '.join(argv)}\n{process.stderr}"
        )
    return json.loads(process.stdout)


def middle(usages: Iterable[Usage]) -> Usage:
    """Return the median of each figure."""
    rows = list(usages)
    return Usage(
        median(row.cpu_s for row in rows),
        median(row.wall_s for row in rows),
        median(row.peak_mib for row in rows),
    )


def archive_log(folder: Path, name: str) -> Path:
    """
    Return the path of an archive log in a folder.

    Raises
    ------
    BenchmarkError
        If it is not there; says which file, and where it comes from.
    """
    path = folder / name
    if not path.is_file():
        raise BenchmarkError(f"no {name} in {folder}; it comes from {ARCHIVE}")
    return path


def versions(names: Iterable[str] = ("cpsched", "numpy", "pyarrow")) -> dict[str, str]:
    """Return what is measured, with what."""
    versions_of = {"python": platform.python_version(), "machine": platform.machine()}
    for name in names:
        try:
            versions_of[name] = version(name)
        except PackageNotFoundError:
            versions_of[name] = "not installed"
    return versions_of


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a Markdown table, its cells aligned to the right."""
    cells = [list(columns), *([_text(value) for value in row] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(columns))]
    cells.insert(1, ["-" * (width - 1) + ":" for width in widths])
    print(f"\n### {title}\n")
    for row in cells:
        padded = (cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        print("| " + " | ".join(padded) + " |")
    sys.stdout.flush()


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.2f}" if abs(value) < 100 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def save(path: Path | None, results: Mapping[str, Any]) -> None:
    """Write all figures, where asked for; also single runs, not only medians."""
    if path is not None:
        content = json.dumps({"versions": versions(), **results}, indent=1, default=asdict)
        path.write_text(content + "\n", encoding="utf-8")
