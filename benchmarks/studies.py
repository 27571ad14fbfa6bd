"""
What a campaign costs beside its runs.

Two parts:

- ``speedup``: eight equal runs with one process and with two; wall time.
- ``many``: 1,000 runs of a log of 40 jobs in one campaign, against the same simulations and the
  same files in a plain loop; CPU time.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import measure

PARTS = ("speedup", "many")
#: Targets: two processes against one, seconds a run in a campaign.
SPEEDUP, A_RUN = 1.8, 0.05

EQUAL = """\
systems = ["eurora"]
dispatchers = ["{dispatcher}"]
repeat = 8
jitter = 0
[[workloads]]
generator = "eurora"
options = {{ jobs = {jobs}, load = 0.8 }}
"""
MANY = """\
systems = ["small.toml"]
dispatchers = ["fifo", "sjf", "ljf", "easy", "greedy"]
predictors = ["requested", "actual"]
repeat = {seeds}
[[workloads]]
file = "small.swf"
"""
SMALL = """\
name = "small"
title = "eight cores"
source = "made up"
resources = ["core"]
default_expected_wait = 3600
[[nodes]]
group = "all"
count = 8
core = 1
[log]
processors = "pool"
"""
#: The runs of a study without a campaign: what they cost themselves.
LOOP = """\
import sys
from pathlib import Path
from cpsched.study import load_study
from cpsched.study.inputs import prepare
from cpsched.study.run_spec import run_specs
from cpsched.study import save_run
from cpsched.simulation.simulate import simulate
for task in run_specs(load_study(sys.argv[1])):
    run = simulate(
        prepare(task.made_of), dispatcher=task.dispatcher, predictor=task.predictor,
        settings=task.settings,
    )
    save_run(run, Path(sys.argv[2]) / task.name)
"""


def compare(folder: Path, out: str, *options: str) -> measure.Usage:
    """Carry ``study.toml`` of a folder out, and return what that has cost."""
    return measure.run(
        [*measure.CPSCHED, "compare", folder / "study.toml", "--out", folder / out, *options]
    )


def turns(
    folder: Path,
    args: argparse.Namespace,
    titles: list[str],
    sides: list[tuple[str, ...]],
    target: str,
) -> list[tuple[object, ...]]:
    """Measure eight equal runs with two sets of options, in turns, and print the ratios."""
    (folder / "study.toml").write_text(EQUAL.format(jobs=args.jobs, dispatcher=args.dispatcher))
    # What the first run loads is on nobody's account.
    compare(folder, "warm", "--first", "300", *sides[1])
    rows: list[tuple[object, ...]] = []
    for turn in range(args.runs):
        first, second = (
            compare(folder, f"{at}{turn}", *side).wall_s for at, side in enumerate(sides)
        )
        rows.append((turn + 1, first, second, first / second))
    measure.table(
        f"Eight equal runs ({args.dispatcher}, {args.jobs:,} jobs each); target {target}",
        ["turn", *titles],
        rows,
    )
    return rows


def speedup(folder: Path, args: argparse.Namespace) -> dict[str, Any]:
    """Compare one process with two."""
    titles = ["1 process, s", "2 processes, s", "speed-up"]
    return {"speedup": turns(folder, args, titles, [(), ("--workers", "2")], f"{SPEEDUP}")}


def many(folder: Path, args: argparse.Namespace) -> dict[str, Any]:
    """Compare a campaign of tiny runs with a loop."""
    (folder / "small.toml").write_text(SMALL)
    (folder / "small.swf").write_text(_small_log(40))
    (folder / "study.toml").write_text(MANY.format(seeds=2))
    compare(folder, "warm", "--workers", "2")
    (folder / "study.toml").write_text(MANY.format(seeds=args.many // 10))
    number = args.many // 10 * 10
    loop = measure.run([sys.executable, "-c", LOOP, folder / "study.toml", folder / "loop"])
    rows = []
    for name, options in (("1 process", ()), ("2 processes", ("--workers", "2"))):
        used = compare(folder, name[0], *options)
        again = compare(folder, name[0], *options)
        extra = (used.cpu_s - loop.cpu_s) / number
        rows.append((name, used.cpu_s, used.wall_s, 1000 * extra, again.cpu_s))
    measure.table(
        f"{number:,} runs of 40 jobs; a plain loop of them: {loop.cpu_s:.1f} s CPU,"
        f" {loop.wall_s:.1f} s wall; target below {1000 * A_RUN:.0f} ms",
        ["campaign", "CPU, s", "wall, s", "on top of a run, ms CPU", "again, nothing to do, s CPU"],
        rows,
    )
    return {"many": rows, "loop": loop}


def _small_log(num_jobs: int) -> str:
    """Return a log of jobs of 1 to 8 processors, more than eight cores can do."""
    lines = ["; UnixStartTime: 1000000000"]
    for job in range(1, num_jobs + 1):
        size, runtime = 1 + job * 5 % 8, 30 + job * 37 % 300
        lines.append(
            f"{job} {60 * job} -1 {runtime} {size} -1 -1 {size} {2 * runtime} -1 1 {job % 7} 1 -1 1"
            " -1 -1 -1"
        )
    return "\n".join(lines) + "\n"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--part", action="append", choices=PARTS, help="[all]; repeat for more")
    add("--runs", type=int, default=3, help="turns of 'speedup' [3]")
    add("--jobs", type=int, default=20_000, help="of the eight equal runs' workload [20000]")
    add("--dispatcher", default="easy", help="of the eight equal runs [easy]")
    add("--many", type=int, default=1_000, help="runs of the part 'many' [1000]")
    add("--folder", type=Path, help="where to work; kept [a temporary one]")
    add("--json", type=Path, help="write all figures to this file")
    args = parser.parse_args()
    if args.runs < 1 or args.jobs < 1000 or args.many < 10:
        parser.error("too few: at least 1 turn, 10 runs, and 1000 jobs")
    return args


def main() -> None:
    args = arguments()
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as temporary:
        base = args.folder or Path(temporary)
        for part in args.part or PARTS:
            folder = base.absolute() / part
            shutil.rmtree(folder, ignore_errors=True)
            os.makedirs(folder)  # noqa: PTH103
            results |= globals()[part](folder, args)
    measure.save(args.json, results)


if __name__ == "__main__":
    main()
