"""
Whether two checkouts give the same numbers: five studies, every cell of their tables.

    PYTHONPATH=CHECKOUT python benchmarks/study_numbers.py record BEFORE --logs FOLDER
    python benchmarks/study_numbers.py record AFTER --logs FOLDER
    python benchmarks/study_numbers.py compare BEFORE AFTER

The studies are the bundled demo, three logs, scenarios, repetitions, and a Slurm policy. FOLDER has
three logs of the Parallel Workloads Archive. A number is found by its run, its group of jobs, its
metric and its statistic, so that the layout of the tables may change. Prints how many numbers are
equal, and each that differs or is in one of the folders only.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from measure import CPSCHED, HERE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

DATA = HERE.parent / "data"
LOGS = {
    "kth-sp2": "KTH-SP2-1996-2.1-cln.swf.gz",
    "hpc2n": "HPC2N-2002-2.2-cln.swf.gz",
    "sdsc-blue": "SDSC-BLUE-2000-4.2-cln.swf.gz",
}
LABELS = ("workload", "system", "dispatcher", "predictor")
#: A number's run, group of jobs, metric and statistic.
Key = tuple[str, ...]
#: What differs between equal runs, and what describes a number instead of being one.
_OMITTED = {"timing.csv"}
#: Columns that name a group of jobs, by table.
_GROUPS = {"classes": ("class",), "sizes": ("size",), "gains": ("kind", "group"),
           "record": ("kind", "group"), "outcomes": ("outcome",), "runs": ("seed",)}  # fmt: skip
#: Of tables that have a row for each metric.
_METRIC = ("figure", "metric")


def studies(folder: Path, logs: Path) -> dict[str, list[str | Path]]:
    """Return the command of each study, which is written to a folder."""
    eurora = DATA / "logs" / "eurora-sample.csv.gz"
    site = folder / "site.parquet"
    policy = DATA / "policies" / "site-152.toml"
    systems = [argument for name in LOGS for argument in ("-s", name)]
    return {
        "demo": ["compare", "demo"],
        "logs": ["compare", *(logs / name for name in LOGS.values()), *systems, "--first", "1500",
                 "-d", "easy", "-d", "easy-wsept", "-d", "fifo"],
        "what-if": ["what-if", eurora, "-s", "eurora", "--change", "add-nodes group=gpu,count=8",
                    "--change", "scale-load 1.2", "--change", "dispatcher fifo"],
        "repetitions": ["compare", eurora, "-s", "eurora", "--first", "1500", "--repeat", "5",
                        "-d", "easy", "-d", "easy-wsept", "-d", "conservative",
                        "-p", "requested", "-p", "user-history"],
        "policy": ["what-if", site, "-s", "site-152", "--slurm-policy", policy, "--first", "1500",
                   "--change", "set bf_window=2880", "--change", "dispatcher easy",
                   "--repeat", "3"],
    }  # fmt: skip


def record(folder: Path, logs: Path) -> None:
    """Carry out the studies with the cpsched that Python imports."""
    folder.mkdir(parents=True, exist_ok=True)
    site = folder / "site.parquet"
    if not site.is_file():
        _cpsched("log", "generate", "site", "--out", site)
    for name, command in studies(folder, logs).items():
        _cpsched(*command, "--out", folder / name, "--workers", "1")


def _cpsched(*arguments: str | Path) -> None:
    print(" ".join(map(str, arguments)), flush=True)
    subprocess.run([*CPSCHED, *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)


def numbers(study: Path) -> dict[Key, str]:
    """Return every cell of a study's tables."""
    cells: dict[Key, str] = {}
    for path in sorted((study / "tables").glob("*.csv")):
        if path.name not in _OMITTED:
            cells.update(_cells(path))
    return cells


def _cells(path: Path) -> Iterator[tuple[Key, str]]:
    """Yield the cells of a table."""
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            run = tuple(row.pop(label) for label in LABELS)
            row.pop("folder", "")
            groups = _GROUPS.get(path.stem, ("class", "jobs") if _is_long(row) else ())
            group = " ".join(row.pop(name) for name in groups if name in row) or "all"
            if path.stem in ("gains", "record", "outcomes", "runs"):
                group = f"{path.stem} {group}"
            metric = next((row.pop(name) for name in _METRIC if name in row), "")
            for column, cell in row.items():
                if cell:
                    key = (metric, column) if metric else (column, "value")
                    yield (*run, group, *key), cell


def _is_long(row: dict[str, str]) -> bool:
    return any(name in row for name in _METRIC)


def compare(before: Path, after: Path) -> bool:
    """Print what differs between two folders of studies; return whether nothing does."""
    same = True
    for study in sorted(path.parent for path in before.glob("*/tables")):
        old, new = numbers(study), numbers(after / study.name)
        count = Counter(_state(old.get(key), new.get(key)) for key in old | new)
        print(f"{study.name}: " + ", ".join(f"{count[state]:,} {state}" for state in sorted(count)))
        for key in sorted(old | new):
            state = _state(old.get(key), new.get(key))
            if state != "equal":
                same = False
                print(f"  {state}: {' | '.join(key)}: {old.get(key, '-')} -> {new.get(key, '-')}")
    return same


def _state(old: str | None, new: str | None) -> str:
    if old is None or new is None:
        return "only before" if new is None else "only after"
    return "equal" if old == new else "different"


def main(argv: Sequence[str] | None = None) -> None:
    """Run a command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record")
    recording.add_argument("folder", type=Path)
    recording.add_argument("--logs", type=Path, required=True)
    comparing = commands.add_parser("compare")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    options = parser.parse_args(argv)
    if options.command == "record":
        record(options.folder, options.logs)
    elif not compare(options.before, options.after):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
