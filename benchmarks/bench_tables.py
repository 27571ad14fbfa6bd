"""
The data of docs/results/benchmark-v1.md, from the folder of a bench.

    cpsched bench --logs DIR --out FOLDER -j 2
    python benchmarks/bench_tables.py FOLDER

Writes ``bench-TRACK.csv`` (the table) and ``bench-TRACK-logs.csv`` (its parts, log by log) for each
track of the folder, and prints what can be said of each.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

from cpsched.cli.bench_scores import scored

DATA = Path(__file__).resolve().parents[1] / "docs" / "results" / "data"


def cell(text: str) -> str:
    """Return a cell of a table in one line, its interval in words."""
    value, _, interval = text.partition("\n")
    return f"{value} ({interval.replace('-', ' to ')})" if interval else value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("folder", type=Path)
    for track in scored(parser.parse_args().folder):
        name = f"bench-{track.track.name}"
        table = track.table(full=False)
        with (DATA / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow([column.header for column in table.columns])
            columns = [map(cell, column.values) for column in table.columns]
            writer.writerows(zip(*columns, strict=True))
        (DATA / f"{name}-logs.csv").write_text(track.rows(), encoding="utf-8")
        print(f"{track.track.name}:", *track.sentences(), sep="\n  ")


if __name__ == "__main__":
    main()
