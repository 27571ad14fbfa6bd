"""
The invented site of the generator ``site``: users, kinds of jobs, habits.

All of it is assumed and not based on a real site. Users and accounts are the same for every seed,
as the site's policy (``data/policies/site-152.toml``) names them.
"""

from __future__ import annotations

from dataclasses import dataclass

#: Nodes of each kind of system ``site-152``, cores and memory in MB of one, and GPUs.
CORES = 64
THIN, LONG, GPU_NODES, BIG = 48, 80, 16, 8
GPUS = 4
THIN_MB, GPU_MB, BIG_MB = 250_000, 500_000, 2_000_000

#: Accounts of two levels: faculty, group, shares of the group.
ACCOUNTS = (
    *(("physics", f"phys-{name}", shares) for name, shares in (("qcd", 40), ("plasma", 20))),
    *(("physics", f"phys-{name}", shares) for name, shares in (("astro", 25), ("solid", 15))),
    *(("chemistry", f"chem-{name}", shares) for name, shares in (("md", 30), ("dft", 30))),
    *(("chemistry", f"chem-{name}", shares) for name, shares in (("catal", 10),)),
    *(("biology", f"bio-{name}", shares) for name, shares in (("omics", 30), ("image", 15))),
    *(("biology", f"bio-{name}", shares) for name, shares in (("eco", 5),)),
    *(("engineering", f"eng-{name}", shares) for name, shares in (("cfd", 35), ("fem", 20))),
    *(("engineering", f"eng-{name}", shares) for name, shares in (("energy", 10),)),
    *(("informatics", f"cs-{name}", shares) for name, shares in (("ml", 40), ("nlp", 30))),
    *(("informatics", f"cs-{name}", shares) for name, shares in (("class", 5),)),
    *(("earth", f"earth-{name}", shares) for name, shares in (("climate", 35), ("seismo", 15))),
)
FACULTIES = tuple(dict.fromkeys(faculty for faculty, _, _ in ACCOUNTS))
#: Shares of the faculties.
FACULTY_SHARES = (25, 20, 15, 15, 15, 10)
USERS = 200
#: QOS, and the share of the jobs that has each.
QOS, QOS_SHARES = ("normal", "high", "low"), (0.82, 0.06, 0.12)
LICENSES = ("matlab:1", "matlab:4", "ansys:8", "comsol:2,matlab:1")
LICENSES_HELD = {"matlab": 60, "ansys": 128, "comsol": 20}


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteJobClass:
    """
    A kind of job.

    Attributes
    ----------
    share
        Part of the jobs.
    work
        Core seconds of the kind over those of its nodes, relative to the load of the machine.
    cores
        What a job asks for on a node, and how often.
    nodes
        On how many nodes, and how often.
    median, spread
        Of runtimes: seconds, and deviation of the logarithm between campaigns.
    memory
        MB for each core, between these; of kinds with whole nodes, part of the node's.
    arrays
        Part of the jobs that are tasks of arrays, for a third over all kinds.
    """

    share: float
    cores: tuple[tuple[int, float], ...]
    nodes: tuple[tuple[int, float], ...] = ((1, 1.0),)
    median: float
    spread: float
    memory: tuple[int, int]
    arrays: float = 0.0


#: Cores are those of each GPU for the kind ``gpu``.
KINDS: dict[str, SiteJobClass] = {
    "serial": SiteJobClass(
        share=0.45,
        cores=((1, 0.55), (2, 0.15), (4, 0.2), (8, 0.1)),
        median=1500,
        spread=1.5,
        memory=(1000, 8000),
        arrays=0.5,
    ),
    "shared": SiteJobClass(
        share=0.20,
        cores=((8, 0.3), (16, 0.4), (32, 0.3)),
        median=3600,
        spread=1.5,
        memory=(1000, 3900),
        arrays=0.3,
    ),
    "nodes": SiteJobClass(
        share=0.18,
        cores=((64, 1.0),),
        nodes=((1, 0.4), (2, 0.25), (4, 0.18), (8, 0.11), (16, 0.05), (32, 0.01)),
        median=5400,
        spread=1.6,
        memory=(1500, 3900),
    ),
    "gpu": SiteJobClass(
        share=0.13,
        cores=((16, 1.0),),
        nodes=((1, 0.85), (2, 0.11), (4, 0.04)),
        median=3600,
        spread=1.6,
        memory=(2000, 7500),
        arrays=0.35,
    ),
    "bigmem": SiteJobClass(
        share=0.04,
        cores=((8, 0.3), (16, 0.4), (32, 0.3)),
        median=5400,
        spread=1.4,
        memory=(12_000, 30_000),
    ),
}
#: GPUs on each node of a GPU job, and how often; on several nodes all of each.
GPU_COUNTS = ((1, 0.5), (2, 0.3), (4, 0.2))
#: Part of the load of the machine that the nodes with GPUs, and those with much memory, have.
LOADS = {"gpu": 0.95, "bigmem": 0.7}

#: Times people ask for, seconds.
REQUESTS = (
    *(600, 1800, 3600, 7200, 14_400, 28_800, 43_200, 86_400),
    *(172_800, 259_200, 345_600, 604_800),
)
#: Most seconds in each partition.
LIMITS = {"short": 14_400, "normal": 86_400, "long": 604_800, "gpu": 172_800, "bigmem": 345_600}
#: Most nodes of a job in the partitions ``short`` and ``long``.
SHORT_NODES, LONG_NODES = 8, 16

#: Activity by hour of the day, and by day from Monday.
HOURS = (
    *(0.5, 0.4, 0.35, 0.3, 0.3, 0.35, 0.5, 0.8, 1.3, 1.7, 1.8, 1.7),
    *(1.4, 1.5, 1.8, 1.85, 1.7, 1.4, 1.1, 0.9, 0.85, 0.8, 0.7, 0.6),
)
WEEK = (1.15, 1.25, 1.25, 1.2, 1.05, 0.55, 0.55)
#: Tasks of an array that may run at once, 0 any number, and how often.
THROTTLES = ((0, 0.3), (5, 0.15), (10, 0.25), (20, 0.15), (50, 0.15))
#: Days that users would have an array run at most.
DAYS_OF_ARRAY = 2
NICE = (10, 50, 100, 1000)
#: Parts of the jobs.
BEGIN, LICENSED, NICED, CANCELLED, EXCLUSIVE = 0.02, 0.03, 0.03, 0.04, 0.03
#: Part of the jobs in campaigns without arrays that wait for the one before, and types of that.
CHAINED = 0.12
LONGEST_CHAIN = 4
CHAINS = (("afterok", 0.6), ("afterany", 0.3), ("afternotok", 0.04), ("after", 0.06))
#: Parts of the jobs that fail early, are cancelled while they run, and hit their limit.
FAILED, STOPPED, TOO_LONG = 0.08, 0.03, 0.06


def users() -> tuple[tuple[str, str], ...]:
    """Return users and their accounts: as many in an account as it has shares, about."""
    total = sum(shares for _, _, shares in ACCOUNTS)
    people = []
    given = 0
    done = 0
    for _, account, shares in ACCOUNTS:
        done += shares
        until = round(USERS * done / total)
        people += [(f"u{number:03d}", account) for number in range(given + 1, until + 1)]
        given = until
    return tuple(people)
