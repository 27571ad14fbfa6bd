"""
Does every reader read or refuse what it is given? Changed valid inputs, very many of them.

    python benchmarks/fuzz.py --inputs 50000 --seconds 60 --seed 1 --csv fuzzing.csv
    python benchmarks/fuzz.py --reader "SWF log" --inputs 1000

Each reader runs in a process of its own that may take 1 GB more than it had after importing
everything, so that an input that needs more is a ``MemoryError`` and counts as a finding; so does
any exception but the project's own, an error of several lines, and 10 s. It stops at so many inputs
or seconds, whichever is first; how many there were is printed. A share of them runs again under
``coverage`` (``pip install coverage``): which lines of the reader are reached, and which functions
never are. The input of the last finding of each kind is kept in ``--keep``.
"""

from __future__ import annotations

import argparse
import ast
import csv
import json
import multiprocessing
import resource
import sys
import tempfile
import time
import warnings
from collections import Counter
from importlib import import_module
from pathlib import Path

from measure import table

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "support"))

#: Bytes a reader may take beyond what the imports took.
MOST = 2**30
COLUMNS = ("reader", "inputs", "read", "refused", "findings", "kinds", "longest_s", "mb", "lines_%")


def memory() -> int:
    """Return how many bytes of data this process has."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(next(line.split()[1] for line in status.splitlines() if "VmData" in line))


def tried(
    name: str, number: int, seconds: float, seed: int, keep: Path | None
) -> dict[str, object]:
    """Read changed inputs of one reader; return what came of them."""
    import fuzzing

    warnings.simplefilter("ignore")
    reader = next(reader for reader in fuzzing.READERS if reader.name == name)
    fuzzing.seeds_of(reader)
    with tempfile.TemporaryDirectory(dir=_fast()) as parent:
        folder = Path(parent) / "input"
        fuzzing.try_inputs(reader, 20, seed, lambda files: reader.outcome(files, folder))
        soft = memory() + MOST
        resource.setrlimit(resource.RLIMIT_DATA, (soft, resource.RLIM_INFINITY))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        outcomes: Counter[str] = Counter()
        longest, end = 0.0, time.monotonic() + seconds

        def count(files: dict[str, bytes]) -> None:
            nonlocal longest
            begun = time.monotonic()
            if begun > end:
                return
            outcome = reader.outcome(files, folder)
            longest = max(longest, time.monotonic() - begun)
            outcomes[outcome] += 1
            if outcome not in ("read", "refused") and outcomes[outcome] == 1:
                _keep(keep, reader.name, outcome, files)

        fuzzing.try_inputs(reader, number, seed, count)
    wrong = {what: times for what, times in outcomes.items() if what not in ("read", "refused")}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "reader": name, "inputs": outcomes.total(), "read": outcomes["read"],
        "refused": outcomes["refused"],
        "findings": sum(wrong.values()), "kinds": len({what.split(" at ")[-1] for what in wrong}),
        "longest_s": round(longest, 2), "mb": round((peak - before) / 1024), "wrong": wrong,
    }  # fmt: skip


def _fast() -> str | None:
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


def _keep(keep: Path | None, name: str, outcome: str, files: dict[str, bytes]) -> None:
    print(f"{name}: {outcome}", flush=True)
    if keep is None:
        return
    folder = keep / f"{name.replace(' ', '-')}-{len(list(keep.glob('*')))}"
    folder.mkdir(parents=True)
    for file, data in files.items():
        (folder / file).write_bytes(data)


def covered(names: list[str], seconds: float, seed: int) -> dict[str, dict[str, object]]:
    """
    Return by reader the share of its lines that inputs reach, and the functions none reaches.

    ``seconds`` are those of each reader.
    """
    coverage = import_module("coverage")

    # What is imported from now on counts, so this is before everything.
    watch = coverage.Coverage(data_file=None, source=[str(ROOT)], omit=["*/.venv/*"])
    watch.start()
    import fuzzing

    chosen = [reader for reader in fuzzing.READERS if reader.name in names]
    warnings.simplefilter("ignore")
    for reader in chosen:
        fuzzing.seeds_of(reader)
        end = time.monotonic() + seconds
        with tempfile.TemporaryDirectory(dir=_fast()) as parent:
            folder = Path(parent) / "input"

            def read(files: dict[str, bytes], reader=reader, end=end, folder=folder) -> None:  # type: ignore[no-untyped-def]
                if time.monotonic() < end:
                    reader.outcome(files, folder)

            fuzzing.try_inputs(reader, 10**5, seed, read)
    watch.stop()
    return {reader.name: _lines(watch, reader.modules) for reader in chosen}


def _lines(watch: object, patterns: tuple[str, ...]) -> dict[str, object]:
    lines = reached = 0
    never = []
    for file in sorted({path for pattern in patterns for path in ROOT.glob(pattern)}):
        _, statements, _, missing, _ = watch.analysis2(str(file))
        lines, reached = lines + len(statements), reached + len(statements) - len(missing)
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.FunctionDef):
                body = set(range(node.body[0].lineno, (node.end_lineno or 0) + 1)) & set(statements)
                if body and body <= set(missing):
                    never.append(f"{file.stem}.{node.name}")
    return {"lines_%": round(100 * reached / max(lines, 1)), "never": never}


def _alone(how: str, function: object, *arguments: object) -> dict[str, object] | None:
    """Run a function in another process, forked or fresh (spawn); None if that died."""
    context = multiprocessing.get_context(how)
    with context.Pool(1) as pool:
        waiting = pool.apply_async(function, arguments)  # type: ignore[arg-type]
        processes = list(pool._pool)  # type: ignore[attr-defined]
        while not waiting.ready():
            waiting.wait(1)
            if any(process.exitcode is not None for process in processes):
                return None
        return waiting.get()


def main() -> None:
    import fuzzing

    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--inputs", type=int, default=50_000, help="of each reader, at most")
    parser.add_argument("--seconds", type=float, default=60, help="for each reader, at most")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--reader", action="append", help="only this one")
    parser.add_argument("--coverage", type=float, default=0, help="seconds for each reader")
    parser.add_argument("--keep", type=Path, help="folder for inputs that are findings")
    parser.add_argument("--csv", type=Path, help="the table as a file")
    parser.add_argument("--json", type=Path, help="everything, each kind of finding too")
    given = parser.parse_args()
    names = [
        reader.name for reader in fuzzing.READERS if not given.reader or reader.name in given.reader
    ]
    rows = []
    for name in names:
        row = _alone("fork", tried, name, given.inputs, given.seconds, given.seed, given.keep)
        row = row or {"reader": name, "findings": 1, "wrong": {"the process died": 1}}
        print(row, flush=True)
        rows.append(row)
    if given.coverage:
        lines = _alone("spawn", covered, names, given.coverage, given.seed + 1) or {}
        for row in rows:
            row |= lines.get(row["reader"], {})
            print(f"{row['reader']}: never reached: {', '.join(row.get('never', [])) or 'none'}")
    shown = [[str(row.get(column, "")) for column in COLUMNS] for row in rows]
    table("Readers", COLUMNS, shown)
    print(f"\n{sum(row.get('inputs', 0) for row in rows):,} inputs")
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1))
    if given.csv:
        with given.csv.open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([COLUMNS, *shown])


if __name__ == "__main__":
    main()
