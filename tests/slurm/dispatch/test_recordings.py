"""Priorities and shares against what sprio and sshare of a real Slurm said, job by job."""

import gzip
import json
import re
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from cpsched.slurm.dispatch import policy_file
from cpsched.slurm.dispatch import priority as r
from cpsched.slurm.dispatch.accounts import Accounts
from cpsched.slurm.dispatch.priority import Multifactor, normalized

RECORDINGS = Path(__file__).parents[2] / "data" / "slurm" / "22.05.8"
#: slurm.conf and accounts.txt of the recordings, as far as priorities go by them.
PARTITIONS = {
    "short": (80, (512, 3_072_000, 32)),
    "normal": (40, (384, 2_048_000, 0)),
    "long": (10, (256, 1_536_000, 0)),
    "gpu": (60, (128, 1_024_000, 32)),
}
QOS = {"normal": 40, "high": 100, "low": 5, "scavenger": 0}
WEIGHTS = {"cpu": 1000.0, "mem": 500.0, "gres/gpu": 2500.0}
PRIORITY = {"user7": 60, "user3": 20, "user4": 20}
MAX_AGE = 6 * 3600
#: The age of a job that is not eligible does not count.
NEVER = 2**40


def snapshots(name):
    with gzip.open(RECORDINGS / name / "snapshots.json.gz", "rt") as file:
        return [snapshot["output"] for snapshot in json.load(file)]


def table(text):
    """Return the lines of a table; of columns of one name, as squeue has, the first counts."""
    header, *lines = text.splitlines()
    names = header.split("|")
    return [dict([*zip(names, line.split("|"), strict=False)][::-1]) for line in lines]


def tree_of(text):
    """Return the tree of ``sshare``, its lines in the tree's order, and usage."""
    lines, above, toml = table(text), [], []
    for line in lines:
        depth = len(line["Account"]) - len(line["Account"].lstrip())
        account, user = line["Account"].strip(), line["User"]
        del above[depth:]
        parent = above[-1] if above else ""
        if not user:
            above.append(account)
        shares = line["RawShares"] or "1"
        toml += [
            "[[association]]",
            f'Account = "{account}"',
            f'User = "{user}"' if user else f'Parent = "{parent}"' if parent else "",
            f'Share = "{shares}"',
        ]
    accounts = Accounts(policy_file.parse("\n".join(toml)))
    line_of = {(line["Account"].strip(), line["User"]): line for line in lines}
    ordered = [
        line_of[association.account, association.user] for association in accounts.associations
    ]
    # As of the last computation; raw usage counts jobs that have ended since.
    usage = np.array([float(line["NormUsage"] or 1) for line in ordered])
    return accounts, ordered, usage


CASES = [
    (name, number) for name in ("fair-tree", "classic") for number in range(8)
    if (RECORDINGS / name / "snapshots.json.gz").exists()
]  # fmt: skip


@pytest.mark.parametrize(("name", "number"), CASES)
def test_shares_are_those_of_sshare(name, number):
    accounts, lines, usage = tree_of(snapshots(name)[number]["sshare"])
    tree = accounts.tree
    share = tree.level_share if name == "fair-tree" else tree.norm_share
    for at, line in enumerate(lines[1:], start=1):
        if line["NormShares"] and line["RawShares"] != "parent":
            assert share[at] == pytest.approx(float(line["NormShares"]), abs=1e-6)
    users = [at for at, line in enumerate(lines) if line["User"]]
    factors = [float(lines[at]["FairShare"]) for at in users]
    if name == "fair-tree":
        level = tree.level_fair_share(usage)
        for at, line in enumerate(lines):
            if line["LevelFS"] and line["RawShares"] != "parent":
                # Usage has six digits.
                assert level[at] == pytest.approx(float(line["LevelFS"]), rel=1e-4)
        assert tree.fair_tree(usage)[users].round(6).tolist() == factors
    else:
        effective = tree.effective_usage(usage / usage[0])
        assert tree.classic(effective, 1.0)[users].tolist() == pytest.approx(factors, abs=2e-6)


def second(text):
    if text == "N/A":
        return NEVER
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())


def submitted(name):
    """Return what each job was submitted with."""
    with gzip.open(RECORDINGS / name / "sacct.txt.gz", "rt") as file:
        return {line["JobIDRaw"]: line["SubmitLine"] for line in table(file.read())}


def size_of(submitted, job, *, tested):
    """Return CPUs and nodes as the job-size factor has them."""
    nodes = re.search(r"--nodes=([0-9]+)", submitted)
    least = int(nodes[1]) if nodes else 1
    # A job that shares no node has all CPUs of its nodes, of which squeue knows the number.
    exclusive = tested and "--exclusive" in submitted
    return int(job["NODES"]) * 16 if exclusive else int(job["CPUS"]), least


def megabytes(text):
    number, unit = re.fullmatch(r"([0-9.]+)([MGT])", text).groups()
    return round(float(number) * {"M": 1, "G": 1024, "T": 1024**2}[unit])


@pytest.mark.parametrize(("name", "number"), CASES)
def test_priorities_are_those_of_sprio(name, number):
    """Every factor of every job, as ``sprio -l`` rounds it, and the sum, cut off."""
    output = snapshots(name)[number]
    shares = {
        (line["Account"].strip(), line["User"]): float(line["FairShare"])
        for line in table(output["sshare"]) if line["User"]
    }  # fmt: skip
    jobs = {line["JOBID"]: line for line in table(output["squeue"])}
    rows = [line.split() for line in output["sprio -l"].splitlines()[1:]]
    normal = [line.split("|") for line in output["sprio -n"].splitlines()]
    # sprio has one digit more than sshare, and a sum may be that close to a whole number.
    for line in normal:
        if job := jobs.get(line[0]):
            owner, finer = (job["ACCOUNT"], job["USER"]), float(line[4])
            shares[owner] = finer if abs(finer - shares[owner]) < 1e-6 else shares[owner]
    rows = [row for row in rows if row[0] in jobs]
    assert len(rows) > 30
    names = list(PARTITIONS)
    owners = list(shares)
    known = [jobs[row[0]] for row in rows]
    lines = submitted(name)
    # Priorities of jobs without age are as of their submit, before Slurm has looked for nodes.
    new = np.array([row[5] == "0" for row in rows])
    sizes = [
        size_of(lines[job["JOBID"]], job, tested=not is_new)
        for job, is_new in zip(known, new, strict=True)
    ]
    since = np.array([second(job["ACCRUE_TIME"]) for job in known])
    columns = {
        r.SINCE: np.where(new, NEVER, since),
        r.CPUS: [size[0] for size in sizes],
        r.NODES: [size[1] for size in sizes],
        r.PARTITION: [names.index(row[1]) for row in rows],
        r.QOS: [list(QOS).index(job["QOS"]) for job in known],
        r.ASSOCIATION: [owners.index((job["ACCOUNT"], job["USER"])) for job in known],
        r.NICE: [int(job["NICE"]) for job in known],
    }
    asked = np.ones((len(rows), r.NUM_COLUMNS), dtype=np.int64)
    asked[:, list(columns)] = np.transpose(list(columns.values()))
    asked_tres = np.array([_tres(job["TRES_ALLOC"]) for job in known], dtype=float)
    rules = Multifactor(
        age=4000, association_weight=500, fair_share=10000, job_size=1500, partition_weight=2000,
        qos_weight=3000, tres_weight=np.array(list(WEIGHTS.values())), max_age=MAX_AGE,
        favor_small=name == "classic", cpus=512, nodes=32,
        partition=normalized(np.array([factor for factor, _ in PARTITIONS.values()])),
        qos=normalized(np.array(list(QOS.values()))),
        association=normalized(np.array([PRIORITY.get(user, 0) for _, user in owners])),
        partition_tres=np.array([tres for _, tres in PARTITIONS.values()], dtype=float),
    )  # fmt: skip
    now = _last_computed(rows, normal, jobs)
    factors = rules.factors(asked, asked_tres, now, np.array(list(shares.values())))
    columns = zip(
        factors.age, factors.association, factors.fair_share, factors.job_size, factors.partition, factors.qos,
        strict=True,
    )  # fmt: skip
    wrong = []
    for row, mine, total in zip(rows, columns, factors.priority(), strict=True):
        printed = [int(value) for value in row[5:11]]
        if [round(value) for value in mine] != printed or total != int(row[3]):
            wrong.append((row, [round(value, 2) for value in mine], int(total)))
    assert not wrong, f"{len(wrong)} of {len(rows)}: {wrong[:5]}"


def _tres(text):
    amounts = dict(item.split("=") for item in text.split(","))
    return int(amounts["cpu"]), megabytes(amounts["mem"]), int(amounts.get("gres/gpu", 0))


def _last_computed(rows, normal, jobs):
    """Return the second at which priorities were computed, from the age of most jobs."""
    seconds = [
        second(jobs[line[0]]["ACCRUE_TIME"]) + round(float(line[2]) * MAX_AGE)
        for line in normal
        if line[0] in jobs and 0 < float(line[2]) < 1
    ]
    return max(set(seconds), key=seconds.count)
