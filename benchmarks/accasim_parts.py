"""
Where the CPU time of one `cpsched simulate` goes, beside the least that each part can take.

The process is that of ``against_accasim.py``: the first jobs of HPC2N under FIFO, the run folder
written. Parts are timed inside the process, without those inside them.
The floor of a part is the time of a process that does the same in the shortest way. All take turns.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import measure
from against_accasim import LOG, SYSTEM, prepare

#: Parts, and the functions in which they are timed; what is inside another part is not counted to
#: it.
PARTS = {
    "imports": ("builtins:__import__", "importlib:import_module"),
    "reading the log": ("cpsched.logs:read",),
    "mapping jobs to the machine": ("cpsched.study.inputs:fit",),
    "the loop": ("cpsched.simulation.simulator:Simulator.run",),
    "metrics": ("cpsched.study.writer:summarize",),
    "writing the run": ("cpsched.study.worker:save_run",),
    "tables": ("cpsched.report:load_results",),
}
#: Wraps the functions, runs the command, and writes seconds by part into a file.
_TIMED = """
import builtins, importlib, json, sys
from time import process_time
target, parts, arguments = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3:]
spent, stack = dict.fromkeys(parts, 0.0), []
def timed(part, function):
    def call(*args, **named):
        if stack and stack[-1][0] == part:
            return function(*args, **named)
        stack.append([part, process_time(), 0.0])
        try:
            return function(*args, **named)
        finally:
            _, since, inside = stack.pop()
            whole = process_time() - since
            spent[part] += whole - inside
            if stack:
                stack[-1][2] += whole
    return call
imported = importlib.import_module
def wrap(part, place):
    module, _, path = place.partition(":")
    *owners, name = path.split(".")
    owner = imported(module)
    for each in owners:
        owner = getattr(owner, each)
    setattr(owner, name, timed(part, getattr(owner, name)))
own = {part: places for part, places in parts.items() if part != "imports"}
for place in parts["imports"]:
    wrap("imports", place)
import cpsched.cli.main, cpsched.study.inputs, cpsched.study.writer, cpsched.study.worker
for part, places in own.items():
    for place in places:
        wrap(part, place)
try:
    cpsched.cli.main.main(arguments)
finally:
    spent["whole"] = process_time()
    with open(target, "w") as file:
        json.dump(spent, file)
"""
#: The shortest way to do what a part does: what is made ready, what is timed, and its name.
_SHORTEST_WAYS = {
    "imports": (
        "",
        "import numpy, pyarrow.parquet, typer",
        "import numpy, pyarrow.parquet, typer",
    ),
    "reading the log": (
        "import pyarrow.csv as c",
        "c.read_csv({log!r}, c.ReadOptions(use_threads=False, autogenerate_column_names=True),"
        " c.ParseOptions(delimiter=' '))",
        "pyarrow.csv.read_csv on the same file, one thread",
    ),
    "the loop": (
        "import heapq, random; r = random.Random(1);"
        " ends = [(r.randrange(10**8), i) for i in range({jobs})]; h = []",
        "[heapq.heappush(h, e) for e in ends]; [heapq.heappop(h) for e in ends]",
        "each end put into a heap and taken out, heapq",
    ),
    "writing the run": (
        "import hashlib, pathlib; files = [(p.name, p.read_bytes())"
        " for p in pathlib.Path({run!r}).iterdir()]; out = pathlib.Path({work!r})",
        "[(out / f'again-{{n}}').write_bytes(b) and hashlib.sha256(b).digest() for n, b in files]",
        "writing the same bytes and their SHA-256",
    ),
}
_PRINTED = "from time import process_time as _t; {ready}\n_b = _t()\n{timed}\nprint(_t() - _b)"
#: What no simulator needs to do to have a schedule, and what nothing can be saved of.
_NOT_NEEDED = "0: a schedule does not need it"


def shortest(code: tuple[str, str, str], env: dict[str, str], **names: Any) -> float:
    """Return the CPU seconds that the shortest way takes."""
    ready, timed = (part.format(**names) for part in code[:2])
    source = _PRINTED.format(ready=ready, timed=timed)
    return float(measure.answer([sys.executable, "-c", source], env))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--traces", type=Path, required=True, help=f"folder with {LOG}")
    parser.add_argument("--jobs", type=int, default=50_000, help="how many jobs [50000]")
    parser.add_argument("--runs", type=int, default=7, help="turns [7]")
    parser.add_argument("--csv", type=Path, help="file for the table")
    return parser.parse_args()


def main() -> None:
    args = arguments()
    with tempfile.TemporaryDirectory(prefix="cpsched-bench-") as folder:
        work = Path(folder)
        prepare(measure.archive_log(args.traces, LOG), args.jobs, work / "hpc2n.swf")
        env = {"TZ": "UTC", "PYTHONDONTWRITEBYTECODE": ""}
        given = ["simulate", work / "hpc2n.swf", "--system", SYSTEM, "--dispatcher", "fifo"]
        given += ["--out", work / "study", "--force"]
        timed = [sys.executable, "-c", _TIMED, work / "spent.json", json.dumps(PARTS), *given]
        measure.run([*measure.CPSCHED, *given], env)
        names = {
            "log": str(work / "hpc2n.swf"),
            "jobs": args.jobs,
            "run": str(next((work / "study" / "runs").iterdir())),
            "work": folder,
        }
        ours: dict[str, list[float]] = {}
        shortest_times: dict[str, list[float]] = {}
        for _ in range(args.runs):
            total = measure.run([*measure.CPSCHED, *given], env).cpu_s
            start = measure.run([sys.executable, "-c", "pass"], env).cpu_s
            measure.run(timed, env)
            spent = json.loads((work / "spent.json").read_text())
            inside = spent.pop("whole")
            spent = {"start of Python": start, **spent}
            spent["everything else"] = inside - sum(spent.values())
            spent["the whole process, not timed inside"] = total
            for part, seconds in spent.items():
                ours.setdefault(part, []).append(seconds)
            shortest_times.setdefault("start of Python", []).append(start)
            for part, code in _SHORTEST_WAYS.items():
                shortest_times.setdefault(part, []).append(shortest(code, env, **names))
    report(ours, shortest_times, args.csv)


def report(
    ours: dict[str, list[float]], shortest_times: dict[str, list[float]], target: Path | None
) -> None:
    """Print the table of medians, and write it."""
    what = {
        "start of Python": "python -c pass",
        **{part: code[2] for part, code in _SHORTEST_WAYS.items()},
    }
    rows: list[tuple[Any, ...]] = []
    for part, seconds in ours.items():
        least = shortest_times.get(part, [0.0])
        rows.append((part, median(seconds), median(least), what.get(part, _NOT_NEEDED)))
    last = rows.pop()
    rows.append((*last[:2], sum(row[2] for row in rows), "the sum of these"))
    head = ("part", "CPU [s]", "floor [s]", "what the floor is")
    measure.table("Where the CPU time goes", head, rows)
    if target is not None:
        with target.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(head)
            writer.writerows((row[0], f"{row[1]:.3f}", f"{row[2]:.3f}", row[3]) for row in rows)


if __name__ == "__main__":
    main()
