"""
Whether two checkouts give the same numbers: five studies, every cell of their tables.

    PYTHONPATH=CHECKOUT python benchmarks/study_numbers.py record BEFORE --logs FOLDER
    python benchmarks/study_numbers.py record AFTER --logs FOLDER
    python benchmarks/study_numbers.py compare BEFORE AFTER

The studies are the bundled demo, three logs, scenarios, repetitions, and a Slurm policy. FOLDER has
three logs of the Parallel Workloads Archive. A number is found by its run, its group of jobs, its
metric and its statistic, so that the layout of the tables may change. Prints how many numbers are
equal, each that differs, and what is in the first folder only.
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
#: What only describes a number, or is a text.
_NOT_NUMBERS = ("folder", "allocator", "unit", "verdict", "reproduced", "grade", "on_front")
#: Numbers are equal to so many digits: sums may be made in another order.
_DIGITS = 9


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


def numbers(study: Path) -> dict[Key, float]:
    """Return every number of a study's tables."""
    cells: dict[Key, float] = {}
    for path in sorted((study / "tables").glob("*.csv")):
        if path.name not in _OMITTED:
            with path.open(encoding="utf-8", newline="") as file:
                for row in csv.DictReader(file):
                    for key, text in _READERS.get(path.stem, _wide)(path.stem, row):
                        if (number := _number(text)) is not None:
                            cells[key] = number
    return cells


def _run(row: dict[str, str]) -> Key:
    return tuple(row.pop(label) for label in LABELS)


def _long(_: str, row: dict[str, str]) -> Iterator[tuple[Key, str]]:
    """Yield the numbers of a row that has one metric of one run."""
    run, metric, jobs = _run(row), row.pop("metric"), row.pop("jobs")
    yield (*run, jobs, "repetitions", "value"), row["repetitions"]
    for column in ("value", *_COMPARED):
        yield (*run, jobs, metric, column), row[column]


_COMPARED = (
    *("base_value", "difference", "difference_low", "difference_high"),
    *("ratio", "ratio_low", "ratio_high", "pairs", "days"),
)
_KINDS = dict.fromkeys(("short", "medium", "long"), "length") | {"steady": "window"}


def _wide(stem: str, row: dict[str, str]) -> Iterator[tuple[Key, str]]:
    """Yield the numbers of a row that has many metrics as columns."""
    run = _run(row)
    named = (row.pop(name, "") for name in ("class", "size", "kind", "group", "outcome", "seed"))
    group = " ".join(filter(None, named)) or "all"
    if stem in ("summary", "classes", "sizes"):
        group = group if group == "all" else f"{_KINDS.get(group, 'size')} {group}"
        group = {"set_aside": "excluded"}.get(group, group)
    else:
        group = f"{stem} {group}"
    for column, text in row.items():
        name = "excluded" if column == "set_aside" else column
        yield (*run, group, name, "value"), text


def _differences(_: str, row: dict[str, str]) -> Iterator[tuple[Key, str]]:
    """Yield the numbers of a comparison, with the intervals that people see."""
    run, group, metric = _run(row), row.pop("class"), row.pop("figure")
    group = group if group == "all" else f"{_KINDS.get(group, 'size')} {group}"
    for name in ("base_value", "difference", "ratio", "pairs", "days"):
        yield (*run, group, metric, name), row[name]
    ends = [row[f"{name}_{end}"] for name in ("ratio", "daily_ratio") for end in ("low", "high")]
    low, high, daily_low, daily_high = map(_number, ends)
    if low is None or (daily_low is not None and not row["verdict"].endswith("(this log)")):
        low = daily_low if low is None else min(low, daily_low)
        high = daily_high if high is None else max(high, daily_high)
    yield (*run, group, metric, "ratio_low"), str(low)
    yield (*run, group, metric, "ratio_high"), str(high)


def _gains(_: str, row: dict[str, str]) -> Iterator[tuple[Key, str]]:
    """Yield the numbers of a group of jobs that ran in a run and in its baseline."""
    run, kind, name = _run(row), row.pop("kind"), row.pop("group")
    group = "all" if kind == "all" else f"{kind} {name}"
    names = {"jobs": "common_jobs", "shorter": "share_that_waits_less",
             "longer": "share_that_waits_longer"}  # fmt: skip
    for column, metric in names.items():
        yield (*run, group, metric, "value"), row[column]
    for metric in ("wait_mean_s", "wait_max_s", "bounded_slowdown_mean"):
        yield (*run, group, f"common_{metric}", "value"), row[metric]
        yield (*run, group, f"common_{metric}", "base_value"), row[f"base_{metric}"]
    for column in ("difference", "difference_low", "difference_high"):
        yield (*run, group, "common_wait_mean_s", column), row[column]


_READERS = {"results": _long, "differences": _differences, "gains": _gains}


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def compare(before: Path, after: Path) -> bool:
    """Print what differs between two folders of studies; return whether nothing does."""
    same = True
    for study in sorted(path.parent for path in before.glob("*/tables")):
        old, new = numbers(study), numbers(after / study.name)
        states = {key: _state(old.get(key), new.get(key)) for key in old | new}
        count = Counter(states.values())
        print(f"{study.name}: " + ", ".join(f"{count[state]:,} {state}" for state in sorted(count)))
        for key, state in sorted(states.items()):
            if state == "different":
                same = False
                print(f"  {' | '.join(key)}: {old[key]:.12g} -> {new[key]:.12g}")
        names = Counter(key[5:] for key, state in states.items() if state == "only before")
        same = same and not names
        for (metric, column), number in names.most_common():
            print(f"  only before: {metric} {column} ({number:,})")
    return same


def _state(old: float | None, new: float | None) -> str:
    if old is None or new is None:
        return "only before" if new is None else "only after"
    return "equal" if abs(old - new) <= 10**-_DIGITS * max(abs(old), abs(new)) else "different"


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
