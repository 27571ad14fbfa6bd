"""
How many small faults does the suite notice? Break a checkout in many places, one after the other.

    python benchmarks/mutations.py choose CHECKOUT OTHER --places 60 --seed 0 > places.json
    python benchmarks/mutations.py try CHECKOUT places.json > noticed.json
    python benchmarks/mutations.py compare noticed-before.json noticed-after.json

``choose`` draws places in engine, dispatch, metrics and verification: a comparison that takes the
other side at equality, another sign, a constant off by one, a condition turned around. Only lines
that stand in both checkouts, in a function of the same name, so that two suites are asked the same.
``try`` makes each change in CHECKOUT (a clone that nobody else uses), runs the tests of its package
until the first fails, and takes the change back. A suite that takes over ten minutes has noticed
it, too: most loops that never end are such.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import subprocess
import sys
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from measure import table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: The tests that a package's faults must not pass, the likeliest first.
TESTS = {
    "engine": ["engine", "simulation", "dispatch"],
    "dispatch": ["dispatch", "simulation"],
    "metrics": ["metrics", "study", "report"],
    "verification": ["verification", "simulation"],
}
#: Seconds after which a suite has noticed a fault.
LONGEST = 600
_OTHER = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
    ast.Add: "-", ast.Sub: "+", ast.Mult: "+", ast.FloorDiv: "*", ast.Div: "*",
    ast.And: "or", ast.Or: "and",
}  # fmt: skip


@dataclass(frozen=True)
class Place:
    """A line of a function, and what stands there instead."""

    package: str
    function: str
    line: str
    broken: str
    noticed: str = ""


def places(checkout: Path, package: str) -> Iterator[Place]:
    """Yield each way to break a function of a package, in order."""
    for path in sorted((checkout / "cpsched" / package).rglob("*.py")):
        text = path.read_text()
        for function in ast.walk(ast.parse(text)):
            if isinstance(function, ast.FunctionDef):
                for node in ast.walk(function):
                    yield from _broken(package, function.name, node, text.splitlines())


def _broken(package: str, function: str, node: ast.AST, lines: list[str]) -> Iterator[Place]:
    """Yield the ways to break one expression that stands on one line."""
    for left, right, other in _gaps(node):
        row, start, end = left[0] - 1, left[1], right[1]
        line = lines[row]
        if left[0] == right[0] and line.isascii() and not set("()") & set(line[start:end]):
            broken = f"{line[:start]}{other}{line[end:]}"
            yield Place(package, function, line.strip(), broken.strip())


def _gaps(node: ast.AST) -> Iterator[tuple[tuple[int, int], tuple[int, int], str]]:
    """Yield from where to where something else can stand, and what."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        pair, operator = (node.left, node.comparators[0]), node.ops[0]
    elif isinstance(node, ast.BinOp):
        pair, operator = (node.left, node.right), node.op
    elif isinstance(node, ast.BoolOp) and len(node.values) == 2:
        pair, operator = (node.values[0], node.values[1]), node.op
    else:
        if isinstance(node, ast.Constant) and type(node.value) is int:
            yield (node.lineno, node.col_offset), (
                node.end_lineno or 0, node.end_col_offset or 0
            ), str(node.value + 1)  # fmt: skip
        return
    if (other := _OTHER.get(type(operator))) is not None:
        yield (
            (pair[0].end_lineno or 0, pair[0].end_col_offset or 0),
            (pair[1].lineno, pair[1].col_offset),
            f" {other} ",
        )


def choose(checkout: Path, other: Path, number: int, seed: int) -> list[Place]:
    """Draw places that both checkouts have exactly once, the same number for each package."""
    drawn = []
    for package in TESTS:
        in_checkout, in_other = (
            Counter((place.function, place.line, place.broken) for place in places(tree, package))
            for tree in (checkout, other)
        )
        once = [
            place
            for place in places(checkout, package)
            if in_checkout[place.function, place.line, place.broken] == 1
            and in_other[place.function, place.line, place.broken] == 1
            and _once(checkout, place)
            and _once(other, place)
        ]
        drawn.append(random.Random(f"{seed} {package}").sample(once, number // len(TESTS)))
    return [place for turn in zip(*drawn, strict=True) for place in turn]


def _once(checkout: Path, place: Place) -> Path | None:
    """Return the file with a place's function and, only once, its line."""
    paths = [
        path
        for path in sorted((checkout / "cpsched" / place.package).rglob("*.py"))
        if f"def {place.function}(" in path.read_text()
        and sum(line.strip() == place.line for line in path.read_text().splitlines()) == 1
    ]
    return paths[0] if len(paths) == 1 else None


def attempt(checkout: Path, place: Place) -> str:
    """Break a place, run the tests of its package until one fails, and mend it again."""
    path = _once(checkout, place)
    if path is None:
        return "not there"
    text = path.read_text()
    path.write_text(
        "\n".join(
            line.replace(place.line, place.broken) if line.strip() == place.line else line
            for line in text.split("\n")
        )
    )
    tests = [
        f"tests/{name}" for name in TESTS[place.package] if (checkout / "tests" / name).exists()
    ]
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    try:
        process = subprocess.run(
            command, cwd=checkout, capture_output=True, text=True, timeout=LONGEST, check=False
        )
    except subprocess.TimeoutExpired:
        return "took too long"
    finally:
        path.write_text(text)
    failed = [line for line in process.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return "" if process.returncode == 0 else (failed or ["failed"])[0].partition(" - ")[0]


def compare(before: Sequence[Place], after: Sequence[Place]) -> None:
    """Print by package how many faults two suites have noticed, and those that one alone missed."""
    rows = [
        [package, *(str(sum(p.package == package for p in before)),
                 *(str(sum(p.package == package and bool(p.noticed) for p in group))
                   for group in (before, after)))]
        for package in TESTS
    ]  # fmt: skip
    table("Faults noticed", ["package", "faults", "before", "after"], rows)
    for old, new in zip(before, after, strict=True):
        if bool(old.noticed) != bool(new.noticed):
            missed = "after" if old.noticed else "before"
            print(f"missed {missed}: {new.package}, {new.function}: {new.line}  ->  {new.broken}")


def main() -> None:
    """Run a command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["choose", "try", "compare"])
    parser.add_argument("paths", type=Path, nargs=2)
    parser.add_argument("--places", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    first, second = args.paths
    if args.what == "choose":
        attempts = choose(first, second, args.places, args.seed)
    elif args.what == "compare":
        compare(*(_read(path) for path in args.paths))
        return
    else:
        attempts = []
        for place in _read(second):
            attempts.append(Place(**{**asdict(place), "noticed": attempt(first, place)}))
            print(f"{place.package}: {attempts[-1].noticed or 'NOT NOTICED'}", file=sys.stderr)
    print(json.dumps([asdict(place) for place in attempts], indent=1))


def _read(path: Path) -> list[Place]:
    return [Place(**place) for place in json.loads(path.read_text())]


if __name__ == "__main__":
    main()
