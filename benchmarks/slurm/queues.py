"""Queues of jobs for a private Slurm: what is submitted when, by seed."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from cpsched.papers.generators.esp import ESP, ESP_NODES, EspNodesOptions, EspOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """
    A job.

    Attributes
    ----------
    at
        Seconds from the start.
    user
        Who submits it; None: who records.
    seconds
        How long it runs if nothing stops it.
    options
        For sbatch; ``{after}`` stands for the id of ``after``.
    after
        Position of an earlier submission in the queue.
    fails
        Whether it ends with an error.
    cancel
        Seconds from the start at which it is cancelled if it still waits.
    """

    at: int
    seconds: int
    options: tuple[str, ...]
    user: str | None = None
    after: int | None = None
    fails: bool = False
    cancel: int | None = None


@dataclass(slots=True)
class _Draft:
    """The options of a job, while they are drawn."""

    limit: int
    options: list[str] = field(default_factory=list)
    after: int | None = None


#: User, account (None: the default one) and how often he submits.
_USERS = (
    ("user1", None, 4), ("user2", None, 5), ("user3", None, 4), ("user4", None, 5),
    ("user5", None, 6), ("user6", None, 3), ("user7", None, 4), ("user8", None, 2),
    ("user8", "astro", 2),
)  # fmt: skip
_LICENCES = ("matlab:1", "matlab:3", "ansys:1", "matlab:1,ansys:1")


def priorities(seed: int, *, count: int = 340, hours: float = 2.5) -> list[Submission]:
    """Return jobs of every kind for the site ``priorities``, more than it can run at once."""
    rng = random.Random(seed)
    times = sorted(int(rng.random() ** 1.6 * hours * 3600) for _ in range(count))
    jobs: list[Submission] = []
    for number, at in enumerate(times):
        user, account, _ = rng.choices(_USERS, [weight for *_, weight in _USERS])[0]
        draft = _shape(rng)
        if account is not None:
            draft.options.append(f"--account={account}")
        _quality(rng, draft)
        _extras(rng, draft, number)
        minutes = draft.limit
        share = rng.betavariate(1.2, 3.0) if rng.random() < 0.93 else 1.3
        cancelled = rng.random() < 0.03
        jobs.append(
            Submission(
                at=at,
                user=user,
                seconds=max(20, int(minutes * 60 * share)),
                options=(f"--time={minutes}", f"--job-name=j{number:03d}", *draft.options),
                after=draft.after,
                fails=rng.random() < 0.08,
                cancel=at + rng.randint(300, 2400) if cancelled else None,
            )
        )
    return jobs


def _shape(rng: random.Random) -> _Draft:
    """Draw partition, size, memory and limit."""
    partition = rng.choices(("short", "normal", "long", "gpu", "short,normal"), (4, 5, 2, 3, 2))[0]
    limits = {"short": (5, 60), "normal": (10, 90), "long": (30, 120), "gpu": (10, 90)}
    low, high = limits[partition.split(",")[0]]
    draft = _Draft(limit=rng.randint(low, high), options=[f"--partition={partition}"])
    kind = rng.random()
    if partition == "gpu":
        draft.options.append(rng.choice(("--gres=gpu:1", "--gres=gpu:2", "--gres=gpu:a100:4")))
        draft.options.append(f"--ntasks={rng.choice((1, 2, 4, 8))}")
    elif kind < 0.45:
        draft.options.append(f"--ntasks={rng.choice((1, 2, 4, 8, 16))}")
        draft.options.append("--nodes=1")
        if rng.random() < 0.4:
            draft.options.append(f"--mem={rng.choice((4, 16, 40, 90)) * 1000}")
    elif kind < 0.8:
        nodes = rng.choice((2, 2, 3, 4, 6, 8))
        draft.options += [f"--nodes={nodes}", "--ntasks-per-node=16", "--mem-per-cpu=1500"]
    elif kind < 0.9:
        draft.options += [f"--nodes={rng.choice((1, 2, 4))}", "--exclusive"]
    else:
        draft.options.append(f"--ntasks={rng.choice((20, 32, 48))}")
    return draft


def _quality(rng: random.Random, draft: _Draft) -> None:
    quality = rng.choices((None, "high", "low", "scavenger"), (6, 1.5, 1.5, 1.5))[0]
    if quality is not None:
        draft.options.append(f"--qos={quality}")
        if quality == "high":
            draft.limit = min(draft.limit, 120)


def _extras(rng: random.Random, draft: _Draft, number: int) -> None:
    """Draw what few jobs have."""
    drawn = rng.random()
    if drawn < 0.06:
        draft.options.append(f"--nice={rng.choice((50, 400, 2000))}")
    elif drawn < 0.11:
        draft.options.append(f"--begin=now+{rng.randint(5, 40) * 60}")
    elif drawn < 0.18 and number > 10:
        kind = rng.choice(("afterok", "afterany", "afternotok", "after"))
        draft.options.append(f"--dependency={kind}:{{after}}")
        draft.after = number - rng.randint(1, 10)
    elif drawn < 0.23:
        draft.options.append(f"--array=1-{rng.randint(4, 9)}%{rng.randint(1, 3)}")
        draft.limit = min(draft.limit, 15)
    elif drawn < 0.29:
        draft.options.append(f"--licenses={rng.choice(_LICENCES)}")
    elif drawn < 0.33 and "--partition=gpu" not in draft.options:
        draft.options.append("--constraint=rack2")


def mixed(seed: int, *, count: int = 370, hours: float = 7.0) -> list[Submission]:
    """Return jobs of minutes to hours for the site ``mixed``, about as many as it can run."""
    rng = random.Random(seed)
    jobs: list[Submission] = []
    for number, at in enumerate(sorted(int(rng.random() * hours * 3600) for _ in range(count))):
        draft = _shape(rng)
        if rng.random() < 0.15:
            draft.options.append("--qos=high")
        minutes = draft.limit
        jobs.append(
            Submission(
                at=at,
                user=f"user{rng.choices(range(1, 7), (4, 5, 3, 6, 2, 3))[0]}",
                seconds=max(30, int(minutes * 60 * rng.betavariate(1.2, 1.5))),
                options=(f"--time={minutes}", f"--job-name=j{number:03d}", *draft.options),
            )
        )
    return jobs


def esp(seed: int) -> list[Submission]:
    """Return the 228 jobs of ESP on 64 nodes, with requests 20 % above their runtimes."""
    options = EspNodesOptions(seed=seed, nodes=64, initial=50, request_factor=1.2)
    jobs = ESP_NODES.generate(options)
    columns = (jobs.submit, jobs.runtime, jobs.requested_time, jobs.units, jobs.name.decode())
    return [
        Submission(
            at=int(at),
            seconds=int(seconds),
            options=(
                f"--time={-(-int(limit) // 60)}",
                f"--nodes={int(nodes)}",
                f"--job-name={name}",
            ),
        )
        for at, seconds, limit, nodes, name in zip(*columns, strict=True)
    ]


def esp_gpu(seed: int) -> list[Submission]:
    """Return the 458 jobs of ESP on 64 nodes of 8 cores and 2 GPUs, requests as in :func:`esp`."""
    jobs = ESP.generate(EspOptions(seed=seed, nodes=64, request_factor=1.2))
    gpus = jobs.per_node[:, jobs.resources.index("gpu")]
    columns = (jobs.submit, jobs.runtime, jobs.requested_time, jobs.units, gpus, jobs.name.decode())
    return [
        Submission(
            at=int(at),
            seconds=int(seconds),
            options=(
                f"--time={-(-int(limit) // 60)}",
                f"--ntasks={int(cores)}",
                *((f"--gres=gpu:{int(number)}",) if number else ()),
                f"--job-name={name}",
            ),
        )
        for at, seconds, limit, cores, number, name in zip(*columns, strict=True)
    ]


def alone(seed: int) -> list[Submission]:
    """Return jobs that find the site ``esp`` empty, at different seconds of its cycles."""
    rng = random.Random(seed)
    times = [12 * number + rng.randint(0, 5) for number in range(40)]
    return [Submission(at=at, seconds=3, options=("--time=5", "--nodes=1")) for at in times]


#: QOS of jobs for the site ``limits``, and how often each is asked for.
_QUALITIES = {
    "normal": 5, "high": 2, "low": 3, "thin": 2, "wide": 2, "over": 1, "scavenger": 4,
}  # fmt: skip
_USERS_OF_LIMITS = tuple(f"user{number}" for number in range(1, 7))


def limits(seed: int, *, count: int = 260, hours: float = 1.8) -> list[Submission]:
    """Return short jobs for the site ``limits``, most of which some limit holds for a while."""
    rng = random.Random(seed)
    jobs: list[Submission] = []
    for at in sorted(int(rng.random() ** 1.3 * hours * 3600) for _ in range(count)):
        number = len(jobs)
        quality = rng.choices(list(_QUALITIES), list(_QUALITIES.values()))[0]
        minutes = rng.randint(8, 28)
        options = [f"--qos={quality}", *_place_and_size(rng, quality)]
        drawn = rng.random()
        lives = minutes * 60
        user = rng.choice(_USERS_OF_LIMITS)
        if drawn < 0.10:
            options.append(f"--licenses={rng.choice(_LICENCES)}")
        elif drawn < 0.15:
            options.append(f"--array=1-{rng.randint(4, 6)}%{rng.randint(1, 2)}")
        elif drawn < 0.19:
            options.append(f"--begin=now+{rng.randint(5, 30) * 60}")
        elif drawn < 0.23 and number > 10:
            options.append("--dependency=afterany:{after}")
        elif drawn < 0.27:
            minutes = rng.choice((35, 45))
        elif drawn < 0.30 and at < 4000:
            options.append("--reservation=lesson")
            user, minutes = rng.choice(("user1", "user3")), 8
        jobs.append(
            Submission(
                at=at,
                user=user,
                seconds=max(60, int(lives * rng.betavariate(1.5, 1.5))),
                options=(f"--time={minutes}", f"--job-name=j{number:03d}", *options),
                after=number - rng.randint(1, 10) if "{after}" in options[-1] else None,
                # What no limit will ever let start must not wait for ever.
                cancel=int(hours * 3600) + 7200,
            )
        )
    return jobs


def _place_and_size(rng: random.Random, quality: str) -> list[str]:
    """Draw a partition and how much of it a job asks for."""
    partition = rng.choices(("batch", "urgent", "gpu", "spare"), (6, 2, 2, 3))[0]
    if quality == "over":
        partition = "gpu"
    options = [f"--partition={partition}"]
    if partition == "gpu":
        options += [f"--gres=gpu:{rng.choice((1, 1, 2, 3))}", f"--ntasks={rng.choice((1, 2, 4))}"]
    elif rng.random() < 0.5:
        options += ["--nodes=1", f"--ntasks={rng.choice((1, 4, 8, 12, 16))}"]
    else:
        options += [
            f"--nodes={rng.choice((2, 2, 3, 4))}",
            "--ntasks-per-node=16",
            "--mem-per-cpu=1500",
        ]
    return options
