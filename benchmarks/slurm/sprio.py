"""
Priorities of jobs of many sizes: what ``sprio`` said against what the imported policy says.

``sprio.py DIR`` reads ``sprio.json`` (or ``sprio.json.gz``), which ``chaos.py`` writes, imports the
site beside this script, and prints the largest difference of each factor, before it is weighted as
``sprio -n`` shows it, and of the sum.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from cpsched._core import SlurmLimits
from cpsched.slurm.config.importer import Files, read_site
from cpsched.slurm.dispatch import priority as r
from cpsched.slurm.dispatch.accounts import Accounts
from cpsched.slurm.dispatch.partitions import Partitions, Reservations
from cpsched.slurm.dispatch.templates import JobTemplates

SITE = Path(__file__).parent / "chaos_site"
#: Of what ``sprio -l`` shows weighted, as whole numbers.
FACTORS = ("age", "association", "fair_share", "job_size", "partition", "qos")
#: The policy counts memory in KB.
_KILO = {"M": 1024, "G": 1024**2, "T": 1024**3}


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare priorities with those of sprio.")
    parser.add_argument("folder", type=Path, metavar="DIR")
    worst = differences(read(parser.parse_args().folder))
    print("\n".join(f"{name:24} {value}" for name, value in worst.items()))


def read(folder: Path) -> dict[str, str]:
    """Return what the commands of a recording printed."""
    packed = folder / "sprio.json.gz"
    plain = folder / "sprio.json"
    data = gzip.decompress(packed.read_bytes()) if packed.exists() else plain.read_bytes()
    output: dict[str, str] = json.loads(data)["output"]
    return output


def differences(output: dict[str, str]) -> dict[str, float]:
    """Return the numbers of jobs and sizes, and the largest difference of each part."""
    with tempfile.TemporaryDirectory() as folder:
        paths = {name: Path(folder) / f"{name}.txt" for name in ("assoc", "qos")}
        for name, path in paths.items():
            path.write_text(output[name])
        site = read_site(Files(conf=SITE / "slurm.conf", **paths), "site")
    place = site.system, site.policy
    records = JobTemplates(
        *place, Partitions(*place), Reservations(*place), Accounts(site.policy), SlurmLimits()
    )
    rules, kinds = records.multifactor, records.kinds
    jobs = {key: line for line in output["jobs"].splitlines() if (key := _of(line, "JobId"))}
    rows = [line.split(None, 11) for line in output["sprio"].splitlines()[1:]]
    rows = [row for row in rows if row[0] in jobs]
    normal = {line.split("|")[0]: line.split("|") for line in output["sprio -n"].splitlines()}
    partitions, levels = (
        [partition.name for partition in records.partitions.rules],
        list(site.policy.qos),
    )
    known = [jobs[row[0]] for row in rows]
    columns = np.zeros((len(rows), r.NUM_COLUMNS), dtype=np.int64)
    columns[:, r.CPUS] = [int(_of(line, "NumCPUs")) for line in known]
    # Before Slurm has looked for nodes, a job without a number of nodes counts as on one.
    columns[:, r.NODES] = 1
    columns[:, r.PARTITION] = [partitions.index(row[1]) for row in rows]
    columns[:, r.QOS] = [levels.index(_of(line, "QOS")) for line in known]
    columns[:, r.ASSOCIATION] = range(len(rows))
    # No job has accrued age: all have waited for seconds, for partitions that are down.
    columns[:, r.SINCE] = 2**40
    share = np.array([float(normal[row[0]][4]) for row in rows])
    rules = replace(rules, association=np.zeros(len(rows)))
    asked = np.array([_tres(line, kinds) for line in known])
    factors = rules.factors(columns, asked, 0, share)
    worst = {"jobs": len(rows), "sizes": len({tuple(sizes) for sizes in asked.tolist()})}
    shown = np.array([[int(cell) for cell in row[5:11]] for row in rows])
    for at, name in enumerate(FACTORS):
        worst[name] = float(abs(np.rint(getattr(factors, name)) - shown[:, at]).max())
    for at, name in enumerate(kinds):
        if rules.tres_weight[at]:
            printed = [float(dict(_pairs(normal[row[0]][8])).get(name, 0)) for row in rows]
            part = factors.tres[:, at] / rules.tres_weight[at]
            worst[f"{name}, before weighting"] = round(float(abs(part - printed).max()), 4)
    worst["priority"] = float(abs(factors.priority() - [int(row[3]) for row in rows]).max())
    return worst


def _of(line: str, name: str) -> str:
    match = re.search(rf"(?:^| ){name}=(\S+)", line)
    return match[1] if match else ""


def _pairs(text: str) -> list[list[str]]:
    return [pair.split("=") for pair in text.split(",") if "=" in pair]


def _tres(line: str, kinds: tuple[str, ...]) -> list[float]:
    """Return how much a job asks for of each kind."""
    printed = dict(_pairs(_of(line, "TRES").removeprefix("(null)")))
    amounts = []
    for kind in kinds:
        number, unit = re.fullmatch(r"([0-9.]+)([MGT]?)", printed.get(kind, "0")).groups()  # type: ignore[union-attr]
        amounts.append(float(number) * _KILO.get(unit, 1))
    return amounts


if __name__ == "__main__":
    main()
