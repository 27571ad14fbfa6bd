"""
The policies of examples/train_ppo.py on Lublin-1: what they learnt, and at what price.

    python benchmarks/gym_lublin.py LUBLIN-1.swf.gz FOLDER ...

Each FOLDER is the ``--out`` of a training, the first of seed 0, the next of seed 1, and so on; the
commands are in benchmarks/results/gym.md. Writes gym-lublin.csv (slowdowns of the ten sequences, as
the trainings counted them, and beside them those of ``cpsched.simulate`` with their longest waits
over EASY's), gym-lublin-curve.csv and gym-lublin-curve.svg (validation) into benchmarks/results.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

from table_v import MACHINES, ROWS, ours, read

from cpsched.report.figures.style import save, styled

RESULTS = Path(__file__).resolve().parent / "results"
WHAT = {"policy": "best on validation", "last": "last"}
HEADS = ("who", "mean", "simulated", "longest wait / EASY", "response / EASY", *map(str, ROWS))


def rows_of(log: Path, folders: list[Path]) -> list[list[str]]:
    """Return the rules and EASY, and the two policies of each training."""
    jobs, machine = read(log), MACHINES["Lublin-1"]
    easy = ours(jobs, machine, "easy")
    rows = []
    for seed, folder in enumerate(folders):
        for name, mean, *each in list(csv.reader((folder / "test.csv").open()))[1:]:
            simulated = ["", "", ""]
            if name in WHAT:
                own = ours(jobs, machine, f"learned:file={folder / name}.zip")
                ratios = own[2] / easy[2], own[3] / easy[3]
                simulated = [f"{own[0]:.2f}", *(f"{ratio:.2f}" for ratio in ratios)]
                rows.append([f"policy of seed {seed}: {WHAT[name]}", mean, *simulated, *each])
            elif seed == 0:
                rows.append([name, mean, *simulated, *each])
    return rows


def curves_of(folders: list[Path]) -> list[dict[str, str]]:
    """Return the learning curves, one row an evaluation."""
    return [
        {"seed": str(seed), **row}
        for seed, folder in enumerate(folders)
        for row in csv.DictReader((folder / "curve.csv").open())
    ]


def drawing(curves: list[dict[str, str]]) -> bytes:
    """Return the validation over the decisions, a line for each seed."""
    with styled("learning curve"):
        from matplotlib.figure import Figure

        figure = Figure(figsize=(7.2, 3.2), layout="constrained")
        axes = figure.subplots()
        for seed in sorted({row["seed"] for row in curves}):
            own = [row for row in curves if row["seed"] == seed][1:]
            million = [int(row["decisions"]) / 1e6 for row in own]
            axes.plot(million, [float(row["valid"]) for row in own], label=f"seed {seed}", lw=1)
        axes.set(xlabel="decisions (millions)", ylabel="mean bounded slowdown, validation")
        axes.set_ylim(0, 32)
        axes.legend(ncols=5, loc="upper right", frameon=False)
        return save(figure, "svg")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("log", type=Path)
    parser.add_argument("folders", nargs="+", type=Path)
    given = parser.parse_args()
    curves = curves_of(given.folders)
    for name, heads, rows in (
        ("gym-lublin", HEADS, rows_of(given.log, given.folders)),
        ("gym-lublin-curve", tuple(curves[0]), [list(row.values()) for row in curves]),
    ):
        with (RESULTS / "data" / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(heads)
            writer.writerows(rows)
    (RESULTS / "gym-lublin-curve.svg").write_bytes(drawing(curves))


if __name__ == "__main__":
    main()
