"""
What is known about Eurora's jobs, as numbers.

Published (Remediani 2017, chapters 3 and 5): the number of jobs and the months, the shares of
short, medium and long jobs, the queues, 76,265 jobs in two of the months. Everything marked
"excerpt" was counted in a public excerpt of the log, 5,930 jobs of four days (2014-03-31 to
04-04, completed jobs only), which has no long jobs, no users and no names. Where the two disagree
the published figures win and the excerpt says what jobs of a class look like. What neither knows
is marked "assumed".
"""

from __future__ import annotations

from dataclasses import dataclass

#: Resource kinds in the order of every request.
RESOURCES = ("core", "gpu", "mic", "mem")
#: What the whole machine holds of each, memory in KB.
MACHINE = (1024, 64, 64, 59 * 16_294_372 + 5 * 32_841_176)
#: First second: 2014-03-01 00:00 UTC, a Saturday.
EPOCH = 1393632000
#: Published: jobs, and days from 2014-03-01 to 2015-08-31.
PUBLISHED_JOBS, PUBLISHED_DAYS = 372_320, 549.0

SHORT, MEDIUM, LONG = 0, 1, 2
#: Published: share of each class, and where it ends (runtime in seconds, inclusive).
CLASS_SHARES = (0.9315, 0.0682, 0.0003)
CLASS_ENDS = (3600, 43200, 86400)

QUEUES = ("debug", "parallel", "longpar")
DEBUG, PARALLEL, LONGPAR = 0, 1, 2
#: Walltime limit of each queue in seconds (debug: the excerpt's largest; the others published).
QUEUE_LIMITS = (1800, 21600, 86400)
#: Excerpt: queues of short, medium, long jobs. Its reservations count as parallel.
QUEUE_SHARES = ((0.689, 0.308, 0.003), (0.0, 0.82, 0.18), (0.0, 0.0, 1.0))
#: Excerpt: requested times by class and queue, seconds and share. Requests of 12 and 24 hours are
#: assumed: the excerpt has none, the published classes need them.
WALLTIMES: dict[tuple[int, int], tuple[tuple[int, float], ...]] = {
    (SHORT, DEBUG): (
        (1800, 0.965), (600, 0.012), (300, 0.007), (900, 0.006), (1740, 0.004), (120, 0.003),
        (480, 0.003),
    ),
    (SHORT, PARALLEL): (
        (14400, 0.80), (21600, 0.09), (3600, 0.04), (5400, 0.028), (10800, 0.013), (1800, 0.01),
        (7200, 0.008), (1200, 0.005), (600, 0.004), (14340, 0.002),
    ),
    (SHORT, LONGPAR): ((28800, 0.8), (43200, 0.1), (86400, 0.1)),
    (MEDIUM, PARALLEL): (
        (14400, 0.54), (21600, 0.20), (12600, 0.18), (14340, 0.05), (10800, 0.01), (7200, 0.01),
        (5400, 0.01),
    ),
    (MEDIUM, LONGPAR): ((28800, 0.72), (43200, 0.13), (86400, 0.15)),
    (LONG, LONGPAR): ((86400, 1.0),),
}  # fmt: skip
#: Excerpt: share of jobs that run into their limit (debug: or stop themselves just before).
LIMIT_SHARES: dict[tuple[int, int], float] = {
    (SHORT, DEBUG): 0.30,
    (MEDIUM, PARALLEL): 0.31,
    (MEDIUM, LONGPAR): 0.75,
    (LONG, LONGPAR): 0.40,
}
#: Excerpt: median and log deviation of the runtimes of short jobs that do not reach their limit.
SHORT_RUNTIMES = ((110.0, 1.45), (500.0, 1.10), (300.0, 1.50))
#: Excerpt: no job ended sooner after its start.
LEAST_RUNTIME = 11


@dataclass(frozen=True, slots=True)
class RequestMix:
    """What a job asks for: units of cores, GPUs and MICs, and how common that is."""

    units: int
    cores: int
    gpus: int
    mics: int
    weight: float

    @property
    def nodes(self) -> float:
        """Whole nodes it is worth, by its scarcest kind."""
        return self.units * max(self.cores / 16, self.gpus / 2, self.mics / 2)


def _shapes(*rows: tuple[int, int, int, int, float]) -> tuple[RequestMix, ...]:
    return tuple(RequestMix(*row) for row in rows)


#: Excerpt: units, cores, GPUs, MICs a unit, and jobs, of short jobs by queue.
SHORT_SHAPES = (
    _shapes(
        (1, 1, 0, 0, 2654), (1, 16, 0, 0, 81), (1, 1, 1, 0, 47), (1, 16, 2, 0, 21),
        (1, 8, 0, 0, 20), (1, 12, 0, 0, 20), (1, 1, 2, 0, 16), (1, 4, 0, 0, 15),
        (2, 16, 0, 0, 14), (1, 8, 1, 0, 12), (1, 2, 2, 0, 11), (2, 8, 0, 0, 11),
        (2, 2, 0, 0, 10), (1, 8, 0, 1, 8), (1, 2, 0, 1, 4), (2, 1, 2, 0, 3), (1, 16, 1, 0, 3),
        (2, 4, 0, 0, 2), (2, 16, 0, 1, 2), (1, 4, 2, 0, 1), (2, 2, 2, 0, 1), (4, 4, 0, 0, 1),
    ),
    _shapes(
        (1, 8, 0, 0, 816), (1, 16, 0, 0, 107), (2, 16, 0, 0, 78), (1, 1, 1, 0, 59),
        (1, 1, 0, 0, 49), (1, 2, 2, 0, 34), (11, 16, 0, 0, 30), (2, 8, 0, 0, 22),
        (1, 16, 2, 0, 22), (1, 4, 0, 0, 16), (1, 16, 0, 1, 15), (4, 16, 0, 0, 10),
        (8, 16, 2, 0, 9), (8, 16, 0, 0, 9), (4, 16, 2, 0, 8), (1, 12, 0, 0, 8),
        (1, 14, 0, 0, 8), (1, 6, 0, 0, 5), (8, 2, 0, 0, 5), (1, 6, 2, 0, 4), (6, 16, 0, 0, 3),
        (2, 12, 0, 0, 2), (2, 16, 0, 1, 2), (6, 8, 0, 0, 1), (8, 1, 1, 0, 1), (22, 2, 0, 0, 1),
    ),
    _shapes((1, 4, 0, 0, 5), (1, 16, 2, 0, 3), (4, 16, 0, 0, 2), (6, 8, 0, 0, 2), (1, 6, 2, 0, 1)),
)  # fmt: skip
#: Excerpt: the same of jobs beyond one hour, all queues together; weights below 1 are assumed.
#: Their widths are tilted until the year has its load, see eurora_widths.
WIDE_SHAPES = _shapes(
    (1, 1, 0, 0, 453), (1, 8, 0, 0, 275), (1, 16, 0, 0, 111), (1, 14, 0, 0, 56),
    (1, 12, 0, 0, 43), (1, 4, 0, 0, 22), (8, 2, 0, 0, 8), (1, 6, 0, 0, 7), (8, 16, 0, 0, 7),
    (6, 8, 0, 0, 5), (4, 16, 0, 0, 5), (2, 8, 0, 0, 3), (2, 16, 0, 0, 2), (6, 16, 0, 0, 2),
    (32, 16, 0, 0, 2), (2, 12, 0, 0, 1), (8, 1, 0, 0, 1), (11, 16, 0, 0, 1), (16, 16, 0, 0, 1),
    (22, 16, 0, 0, 0.5), (8, 1, 0, 1, 0.5), (1, 16, 0, 2, 0.5), (4, 16, 0, 2, 0.5),
    (1, 1, 1, 0, 373), (1, 2, 2, 0, 87), (1, 16, 2, 0, 77), (1, 8, 1, 0, 38), (1, 6, 2, 0, 23),
    (1, 16, 1, 0, 15), (1, 5, 2, 0, 7), (4, 16, 2, 0, 4), (5, 16, 2, 0, 3), (2, 16, 2, 0, 1),
    (8, 16, 2, 0, 1), (8, 2, 2, 0, 0.5), (4, 2, 2, 0, 0.5),
)  # fmt: skip
#: Share of GPU jobs among those beyond one hour: excerpt 0.385, and more so that GPUs are scarce.
WIDE_GPU_SHARE = 0.50
#: Excerpt: memory of a unit in MB and jobs, by (cores, with GPU).
MEMORY: dict[tuple[int, bool], tuple[tuple[int, float], ...]] = {
    (1, False): ((4096, 2647), (8192, 315), (1024, 152), (2048, 41)),
    (1, True): ((1024, 466), (5120, 18), (14336, 9), (6144, 6)),
    (2, False): ((4096, 13), (3072, 5), (2048, 3), (1024, 3), (8192, 3)),
    (2, True): ((1024, 91), (2048, 35), (8192, 6)),
    (4, False): ((4096, 22), (1024, 22), (8192, 7), (2048, 6), (14336, 4)),
    (4, True): ((5120, 1),),
    (5, True): ((2048, 4), (4096, 3)),
    (6, False): ((14336, 12),),
    (6, True): ((4096, 24), (1024, 2), (2048, 2)),
    (8, False): (
        (200, 762), (1024, 175), (14336, 46), (7168, 44), (2048, 41), (4096, 39), (6144, 18),
        (5120, 12), (3072, 9), (10240, 8), (20480, 7),
    ),
    (8, True): ((4096, 51),),
    (12, False): ((12288, 49), (14336, 25)),
    (14, False): ((8192, 64),),
    (16, False): (
        (14336, 232), (10240, 141), (1024, 57), (13312, 25), (5120, 16), (4096, 9), (8192, 3),
    ),
    (16, True): ((14336, 57), (1024, 36), (12288, 30), (4096, 21), (8192, 16), (2048, 6)),
}  # fmt: skip
#: Most memory of a unit that every node can hold, MB; only five nodes hold more.
COMMON_MEMORY = 14336
