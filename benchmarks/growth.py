"""
How cost and memory grow: with jobs, nodes, jobs that wait at once, kinds of resources and users.

    python benchmarks/growth.py [--most-jobs N] [--folder DIR] [--axes jobs,nodes,...]

Every figure is of a process of its own: its CPU seconds and the most memory that it had resident.
Each is run once before.

- jobs: the log of ``farm_log.py`` on its system, 10^4 jobs and more: generate, simulate (``fifo``
  and ``easy``, with ``--out``), verify and report (of both runs).
- nodes: 20,000 jobs of ``farm_log.py`` on 10^2 nodes of 128 cores and more.
- queue: 10 jobs of one core and more, submitted in one second to a node of 8 cores.
- resources: 20,000 jobs that ask for one kind and more on 100 nodes.
- users: 50,000 jobs of 10 users and more, under what keeps a history of users.

Writes growth.csv and growth.svg into benchmarks/results, and prints for each line the exponent of a
power law fitted to what is above the cost of the smallest size, from 10,000 jobs, 1,000 nodes,
waiting jobs and users and 4 kinds on. Without ``--most-jobs 44000000`` it ends with a million jobs.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from farm_log import SYSTEM as FARM

from cpsched.report.figures.style import save, styled

if TYPE_CHECKING:
    from collections.abc import Iterator

RESULTS = Path(__file__).resolve().parent / "results"
FARM_LOG = Path(__file__).resolve().parent / "farm_log.py"
JOBS = (10_000, 30_000, 100_000, 300_000, 1_000_000, 4_000_000, 14_000_000, 44_000_000)
NODES = (100, 1000, 10_000, 100_000, 1_000_000)
QUEUE = (10, 100, 1000, 10_000, 100_000)
RESOURCES = (1, 2, 4, 8, 16, 32)
USERS = (10, 100, 1000, 10_000, 50_000)
#: The least size that counts for an exponent.
FITTED_FROM = {"jobs": 10_000, "nodes": 1000, "queue": 1000, "resources": 4, "users": 1000}
MACHINE = """\
name = "nodes-{count}"
title = "{count} nodes"
source = "this benchmark"
resources = ["core", "mem"]
default_expected_wait = 3600
[[nodes]]
group = "node"
count = {count}
core = {cores}
mem = "512 GB"
[log]
processors = "packed"
"""


#: What has been run already, so that its files are in memory.
WARM: set[tuple[str, str]] = set()


class Point(NamedTuple):
    """One process: what grew and how large, what it did, CPU seconds, MB."""

    axis: str
    size: int
    what: str
    cpu_s: float
    memory_mb: float


def measured(axis: str, size: int, what: str, *arguments: object) -> Point:
    """Run a command of cpsched and return what it took."""
    return taken(axis, size, what, "-m", "cpsched", *arguments)


def generated(axis: str, jobs: int, log: Path) -> Point:
    """Generate the log of a farm and return what it took."""
    return taken(axis, jobs, "generate", FARM_LOG, "--jobs", jobs, "--out", log)


def taken(axis: str, size: int, what: str, *arguments: object) -> Point:
    """Run Python and return what it took."""
    command = [sys.executable, *map(str, arguments)]
    if (axis, what) not in WARM:
        WARM.add((axis, what))
        subprocess.run(command, capture_output=True, check=False)
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        output.seek(0)
        if status:
            raise SystemExit(f"{' '.join(command)}: {output.read().decode()}")
    spent = round(usage.ru_utime + usage.ru_stime, 2)
    point = Point(axis, size, what, spent, round(usage.ru_maxrss / 1024, 1))
    print(*point, sep="  ", flush=True)
    return point


def by_jobs(folder: Path, most: int) -> Iterator[Point]:
    """Yield the steps of a study of one farm after the other."""
    for size in (number for number in JOBS if number <= most):
        log, out = folder / f"farm-{size}.parquet", folder / f"runs-{size}"
        yield generated("jobs", size, log)
        for name in ("fifo", "easy"):
            where = ("--system", FARM, "-d", name, "--out", out / name, "--force")
            yield measured("jobs", size, name, "simulate", log, *where)
        both = out / "both"
        both.mkdir()
        for name in ("fifo", "easy"):
            next((out / name / "runs").iterdir()).rename(both / name)
        yield measured("jobs", size, "verify", "verify", both / "easy")
        yield measured("jobs", size, "report", "report", both, "--out", folder / "report")


def by_nodes(folder: Path) -> Iterator[Point]:
    """Yield simulations of the same jobs on larger and larger machines."""
    log = folder / "nodes.parquet"
    generated("nodes", 20_000, log)
    for size in NODES:
        machine = folder / f"nodes-{size}.toml"
        machine.write_text(MACHINE.format(count=size, cores=128))
        for name in ("fifo", "easy"):
            yield measured("nodes", size, name, "simulate", log, "--system", machine, "-d", name)


def by_queue(folder: Path) -> Iterator[Point]:
    """Yield simulations of more and more jobs that are submitted in one second."""
    machine = folder / "queue.toml"
    machine.write_text(MACHINE.format(count=1, cores=8))
    for size in QUEUE:
        log = folder / f"queue-{size}.swf"
        write_swf(log, size, 0, 50)
        for name in ("fifo", "easy", "easy-wsept"):
            if name != "easy-wsept" or size < QUEUE[-1]:
                where = ("--system", machine, "-d", name)
                yield measured("queue", size, name, "simulate", log, *where)


def write_swf(log: Path, jobs: int, apart: int, users: int) -> None:
    """Write a log of jobs of one core, some seconds apart, of users by turns."""
    runtime = np.random.default_rng(1).integers(1, 7200, jobs)
    lines = (
        f"{row + 1} {apart * row} -1 {seconds} 1 -1 -1 1 {2 * seconds} -1 1 {row % users} 1 1 1 1"
        " -1 -1\n"
        for row, seconds in enumerate(runtime.tolist())
    )
    log.write_text("".join(lines))


def by_resources(folder: Path) -> Iterator[Point]:
    """Yield simulations of jobs that ask for more and more kinds of resources."""
    for size in RESOURCES:
        kinds = ["core", *(f"kind{number}" for number in range(1, size))]
        machine, log = folder / f"resources-{size}.toml", folder / f"resources-{size}.csv"
        have = "\n".join(f"{kind} = 64" for kind in kinds)
        machine.write_text(
            f'name = "kinds-{size}"\ntitle = "{size} kinds"\nsource = "this benchmark"\n'
            f'resources = {json.dumps(kinds)}\n[[nodes]]\ngroup = "node"\ncount = 100\n{have}\n'
        )
        rng = np.random.default_rng(1)
        runtime = rng.integers(60, 7200, 20_000)
        asked = rng.integers(1, 17, (20_000, size))
        head = ",".join(f"request.{kind}" for kind in kinds)
        with log.open("w", encoding="utf-8") as file:
            file.write(f"job_id,submit,runtime,requested_time,units,{head}\n")
            for row, seconds in enumerate(runtime.tolist()):
                units = ",".join(map(str, asked[row].tolist()))
                file.write(f"{row + 1},{10 * row},{seconds},{2 * seconds},1,{units}\n")
        for name in ("fifo", "easy"):
            where = ("--system", machine, "-d", name)
            yield measured("resources", size, name, "simulate", log, *where)


def by_users(folder: Path) -> Iterator[Point]:
    """Yield simulations of as many jobs of more and more users."""
    machine = folder / "users.toml"
    machine.write_text(MACHINE.format(count=50, cores=16))
    for size in USERS:
        log = folder / f"users-{size}.swf"
        write_swf(log, 50_000, 5, size)
        for name, more in (
            ("easy, user-history", ("-d", "easy", "-p", "user-history")),
            ("easy-wsept", ("-d", "easy-wsept")),
        ):
            yield measured("users", size, name, "simulate", log, "--system", machine, *more)


def exponents(points: list[Point]) -> Iterator[str]:
    """Yield a line for each curve: the exponents of CPU and memory above those of the smallest."""
    curves: dict[tuple[str, str], list[Point]] = {}
    for point in points:
        curves.setdefault((point.axis, point.what), []).append(point)
    for (axis, what), curve in curves.items():
        least, *rest = sorted(curve, key=lambda point: point.size)
        rest = [point for point in rest if point.size >= FITTED_FROM[axis]]
        slopes = []
        for figure in ("cpu_s", "memory_mb"):
            pairs = [
                (point.size, getattr(point, figure) - getattr(least, figure)) for point in rest
            ]
            pairs = [(size, more) for size, more in pairs if more > 0]
            slope = np.polyfit(*np.log(np.array(pairs).T), 1)[0] if len(pairs) > 2 else np.nan
            slopes.append(f"{slope:5.2f}")
        yield f"{axis:>9}  {what:<18} CPU {slopes[0]}  memory {slopes[1]}"


def in_words(size: float, _: int) -> str:
    """Return a size as it is written at an axis: 100, 1k, 10M."""
    for unit, factor in (("M", 1e6), ("k", 1e3)):
        if size >= factor:
            return f"{size / factor:g}{unit}"
    return f"{size:g}"


def drawing(points: list[Point]) -> bytes:
    """Return CPU above and memory below, one column an axis."""
    with styled("growth"):
        from matplotlib.figure import Figure
        from matplotlib.ticker import FuncFormatter, NullFormatter

        axes_of = list(dict.fromkeys(point.axis for point in points))
        figure = Figure(figsize=(3.4 * len(axes_of), 5.2), layout="constrained")
        for column, axis in enumerate(axes_of):
            for row, (figure_of, unit) in enumerate((("cpu_s", "CPU s"), ("memory_mb", "MB"))):
                plot = figure.add_subplot(2, len(axes_of), 1 + column + row * len(axes_of))
                for what in dict.fromkeys(point.what for point in points if point.axis == axis):
                    own = [point for point in points if (point.axis, point.what) == (axis, what)]
                    values = [getattr(point, figure_of) for point in own]
                    plot.loglog([point.size for point in own], values, marker=".", label=what)
                low = min(value for line in plot.lines for value in line.get_ydata())
                high = max(value for line in plot.lines for value in line.get_ydata())
                # Whole decades, so that noise does not look like growth.
                plot.set_ylim(10 ** np.floor(np.log10(low)), 10 ** np.ceil(np.log10(high)))
                plot.set(xlabel=axis, ylabel=unit)
                for side in (plot.xaxis, plot.yaxis):
                    side.set_major_formatter(FuncFormatter(in_words))
                    side.set_minor_formatter(NullFormatter())
                if row == 0:
                    plot.legend(frameon=False, fontsize="small", loc="upper left")
        return save(figure, "svg")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--most-jobs", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, help="for logs and runs; a temporary one")
    parser.add_argument("--axes", default=",".join(FITTED_FROM))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        every = {
            "jobs": lambda: by_jobs(folder, given.most_jobs),
            "nodes": lambda: by_nodes(folder),
            "queue": lambda: by_queue(folder),
            "resources": lambda: by_resources(folder),
            "users": lambda: by_users(folder),
        }
        points = [point for axis in given.axes.split(",") for point in every[axis]()]
    with (RESULTS / "data" / "growth.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Point._fields)
        writer.writerows(points)
    (RESULTS / "growth.svg").write_bytes(drawing(points))
    print(*exponents(points), sep="\n")


if __name__ == "__main__":
    main()
