"""
A year and a half of jobs like those of Eurora, the GPU and MIC machine of CINECA.

The log that Remediani (2017) schedules is not public. This generator makes one with everything
that is published about it, and otherwise like the public excerpt; docs/guides/generate-a-log.md
compares the three number by number.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from cpsched.errors import ConfigError
from cpsched.logs.generators import (
    LARGEST_SEED,
    check_integers,
    check_number,
    option,
    pick,
    streams,
)
from cpsched.model.workload import Labels, Workload
from cpsched.papers.generators import eurora_tables as known
from cpsched.papers.generators.eurora_arrivals import draw_submits
from cpsched.papers.generators.eurora_campaigns import draw_campaigns, draw_runs
from cpsched.papers.generators.eurora_widths import draw_widths

if TYPE_CHECKING:
    from cpsched.papers.generators.eurora_campaigns import CampaignJobs, Campaigns
    from cpsched.papers.generators.eurora_widths import Widths
    from cpsched.util.types import BoolArray, FloatArray, IntArray

#: Counts up when equal options begin to give another workload.
VERSION = 1
_FEWEST, _MOST = 1000, 20_000_000
#: Relative tolerance of the load.
_TOLERANCE = 0.02
#: Calibrated: the GPUs' load for a core load of 1; the excerpt has 1.02.
_GPU_LOAD = 1.06
#: Assumed: share of campaigns beyond an hour that short debugging runs precede.
_PREPARED = 0.5
_DAY = 86400


@dataclass(frozen=True, slots=True, kw_only=True)
class EuroraOptions:
    """Options of the generator ``eurora``."""

    jobs: int = option(known.PUBLISHED_JOBS, "number of jobs")
    seed: int = option(1, "seed of all random choices. The same seed gives the same jobs")
    days: float | None = option(
        None, "length of the log in days (default: 678 jobs a day, as in the year)"
    )
    load: float = option(0.47, "core-seconds used, as a share of the system's")

    def __post_init__(self) -> None:
        check_integers(self, jobs=(_FEWEST, _MOST), seed=(0, LARGEST_SEED))
        check_number(self, load=(0.01, 2.0), days=(0.5, 36500.0))

    @property
    def span(self) -> float:
        """Length of the log in days, chosen or in proportion to the jobs."""
        if self.days is not None:
            return float(self.days)
        return known.PUBLISHED_DAYS * self.jobs / known.PUBLISHED_JOBS


class Eurora:
    """Generator of 18 months of jobs like those of Eurora, the GPU and MIC cluster of CINECA."""

    name = "eurora"
    summary = "synthetic jobs after 18 months of Eurora (CINECA): cores, GPUs, MICs, three queues"
    options = EuroraOptions

    def generate(self, options: EuroraOptions) -> Workload:
        """
        Return the workload of the given options, for the system ``eurora``.

        Raises
        ------
        ConfigError
            If the jobs, the days and the load cannot be met together.
        """
        rngs = streams(options.seed, 5)
        campaigns = draw_campaigns(rngs[0], options.jobs)
        runs = draw_runs(rngs[1], campaigns, options.jobs)
        seconds = runs.per_campaign(runs.runtime.astype(np.float64))
        span = options.span
        widths = draw_widths(
            rngs[2],
            campaigns,
            seconds,
            core_seconds=options.load * known.MACHINE[0] * span * _DAY,
            gpu_seconds=_GPU_LOAD * options.load * known.MACHINE[1] * span * _DAY,
        )
        _check_load(options, float(seconds @ widths.total("core")))
        accelerator = _accelerator(widths)
        follows = _draw_preparations(rngs[4], campaigns, accelerator)
        submit = draw_submits(rngs[3], campaigns, runs, widths, days=span, follows=follows)
        first_day = submit[np.cumsum(campaigns.size) - campaigns.size] / _DAY
        people = draw_people(rngs[4], accelerator, first_day, days=span, follows=follows)
        return _assemble(options, campaigns, runs, widths, people, submit)


EURORA = Eurora()


def _check_load(options: EuroraOptions, core_seconds: float) -> None:
    """Refuse options that cannot be met together, and say what the nearest possible load is."""
    load = core_seconds / (known.MACHINE[0] * options.span * _DAY)
    if abs(load - options.load) > _TOLERANCE * options.load:
        raise ConfigError(
            f"{options.jobs} jobs in {options.span:.4g} days cannot have a load of {options.load}"
            f" with Eurora's runtimes and sizes. The nearest possible is {load:.3g}",
            key="load",
        )


def _accelerator(widths: Widths) -> IntArray:
    """Return 0, 1 or 2 for campaigns without accelerators, with GPUs, with MICs."""
    return np.where(widths.total("gpu") > 0, 1, np.where(widths.total("mic") > 0, 2, 0))


def _draw_preparations(
    rng: np.random.Generator, campaigns: Campaigns, accelerator: IntArray
) -> IntArray:
    """Let debug campaigns prepare longer ones of the same kind; -1 for all others."""
    follows = np.full(len(campaigns), -1, dtype=np.int64)
    debug = (campaigns.job_class == known.SHORT) & (campaigns.queue == known.DEBUG)
    beyond = (campaigns.job_class != known.SHORT) & (rng.random(len(campaigns)) < _PREPARED)
    for kind in range(3):
        short = rng.permutation(np.flatnonzero(debug & (accelerator == kind)))
        long = rng.permutation(np.flatnonzero(beyond & (accelerator == kind)))
        pairs = min(len(short), len(long))
        follows[short[:pairs]] = long[:pairs]
    return follows


def _assemble(
    options: EuroraOptions,
    campaigns: Campaigns,
    runs: CampaignJobs,
    widths: Widths,
    people: People,
    submit: IntArray,
) -> Workload:
    """Put the jobs in the order of their submission and label them."""
    order = np.argsort(submit, kind="stable")
    of_job = runs.campaign[order]
    return Workload.build(
        title=f"eurora-{options.jobs}-seed{options.seed}",
        epoch=known.EPOCH,
        resources=known.RESOURCES,
        layout="units",
        header=_header(options),
        job_id=[str(number) for number in range(1, options.jobs + 1)],
        submit=submit[order],
        requested_time=campaigns.requested[of_job],
        units=widths.units[of_job],
        request=widths.request[of_job],
        queue=_labels(list(known.QUEUES), campaigns.queue[of_job]),
        user=_labels(
            [f"u{user:03d}" for user in range(int(people.user.max()) + 1)], people.user[of_job]
        ),
        group=_labels(
            [f"prj{g:02d}" for g in range(int(people.group.max()) + 1)], people.group[of_job]
        ),
        name=_job_names(people, of_job),
        runtime=runs.runtime[order],
        status=runs.status[order],
    )


def _header(options: EuroraOptions) -> list[tuple[str, str]]:
    """Return metadata that says the workload is not a recording, and how to make it again."""
    given = [(item.name, str(getattr(options, item.name))) for item in fields(options)]
    return [
        ("Computer", "Eurora (CINECA), generated: no recording of any machine"),
        ("Generator", f"cpsched eurora, version {VERSION}"),
        *((f"Option {key}", value) for key, value in given),
        ("Span", f"{options.span:.6g} days"),
    ]


def _labels(values: list[str], codes: IntArray) -> Labels:
    """Return a column with codes renumbered in order of first appearance."""
    return Labels(codes, tuple(values)).take(np.arange(len(codes)))


def _job_names(people: People, of_job: IntArray) -> Labels:
    """Return the jobs' names; in numbered campaigns each has its own, with a common prefix."""
    seen = np.zeros(len(people.name), dtype=np.int64)
    names = []
    numbered = people.numbered.tolist()
    for campaign in of_job.tolist():
        name = people.name[campaign]
        if numbered[campaign]:
            seen[campaign] += 1
            name = f"{name}.{seen[campaign]}"
        names.append(name)
    return Labels.encode(names)


#: Assumed: users of the whole log by kind of work, how fast activity falls with rank, accounts.
_USERS = {"cpu": 210, "gpu": 90, "mic": 20}
_DECAY, _HEAD = 1.1, 4.0
_GROUPS = 75
#: Assumed: share of users that are at work in a month.
_AT_WORK = 0.45
_MONTH = 30.0
#: Assumed: programs of one user; campaigns named by the batch system or numbered job by job.
_PROGRAMS_OF_A_USER = 4
_UNNAMED, _NUMBERED = 0.12, 0.15

_PROGRAMS = (
    "namd", "gromacs", "lammps", "amber", "cp2k", "pwscf", "siesta", "openfoam", "wrf", "nemo",
    "gadget", "lqcd", "milc", "blast", "bwa", "matlab", "python", "rscript", "octave", "cuda_fft",
    "dgemm", "hpl", "stream", "lbm", "pic", "mcmc", "raytrace", "fem", "cfd", "dft", "md", "qmc",
    "ising", "nbody", "train", "align", "assembly", "render", "sweep", "bench",
)  # fmt: skip
_TASKS = (
    "eq", "prod", "test", "scan", "opt", "run", "relax", "min", "ref", "hr", "lr", "new", "conv",
    "scf", "md", "post", "par", "ser", "a", "b",
)  # fmt: skip
UNNAMED = "STDIN"


@dataclass(frozen=True, slots=True, kw_only=True)
class People:
    """One row a campaign: indices of user and group, its name, and whether jobs are numbered."""

    user: IntArray
    group: IntArray
    name: list[str]
    numbered: BoolArray


def draw_people(
    rng: np.random.Generator,
    accelerator: IntArray,
    start: FloatArray,
    *,
    days: float,
    follows: IntArray,
) -> People:
    """
    Return the user of each campaign; one that prepares another has its user and name.

    A user has one kind of accelerator, and those that are active change from month to month; a
    short log sees fewer.
    """
    scale = min(1.0, np.sqrt(days / 549.0))
    counts = [max(3, round(count * scale)) for count in _USERS.values()]
    user = np.zeros(len(start), dtype=np.int64)
    uniforms = rng.random(len(start))
    for kind, count in enumerate(counts):
        rows = accelerator == kind
        user[rows] = sum(counts[:kind]) + _at_work(rng, uniforms[rows], start[rows], count)
    program = rng.integers(0, _PROGRAMS_OF_A_USER, len(start))
    task = rng.integers(0, len(_TASKS), len(start))
    chosen = np.where(follows >= 0, follows, np.arange(len(start)))
    user, program, task = user[chosen], program[chosen], task[chosen]
    label = rng.random(len(start))
    groups = max(3, round(_GROUPS * scale))
    group_of_user = pick(rng.random(sum(counts)), (np.arange(groups) + 3.0) ** -1.0)
    return People(
        user=user,
        group=group_of_user[user],
        name=_names(rng, user, program, task, label < _UNNAMED),
        numbered=label >= 1 - _NUMBERED,
    )


def _at_work(
    rng: np.random.Generator, uniforms: FloatArray, start: FloatArray, count: int
) -> IntArray:
    """Choose among ``count`` users by activity, of those at work in the month."""
    user = np.zeros(len(uniforms), dtype=np.int64)
    month = (start // _MONTH).astype(np.int64)
    activity = (np.arange(count) + _HEAD) ** -_DECAY
    for which in np.unique(month):
        rows = np.flatnonzero(month == which)
        present = np.where(rng.random(count) < _AT_WORK, activity, 0.0)
        user[rows] = pick(uniforms[rows], present if present.any() else activity)
    return user


def _names(
    rng: np.random.Generator, user: IntArray, program: IntArray, task: IntArray, unnamed: BoolArray
) -> list[str]:
    """Return ``program_task`` for each campaign, programs differing by user."""
    repertoire = rng.integers(
        0, len(_PROGRAMS), (int(user.max(initial=0)) + 1, _PROGRAMS_OF_A_USER)
    )
    mine = repertoire[user, program]
    return [
        UNNAMED if anonymous else f"{_PROGRAMS[what]}_{_TASKS[how]}"
        for what, how, anonymous in zip(mine.tolist(), task.tolist(), unnamed.tolist(), strict=True)
    ]
