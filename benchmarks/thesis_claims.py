"""
What Remediani (2017) says comes out, as comparisons of runs.

The thesis prints figures and no numbers, so a claim is about an order or about "similar". Runs are
named ``DISPATCHER-ESTIMATE`` as there: W the user's walltime, D the data-driven prediction, R the
real duration. Sections and pages are the thesis's.
"""

from __future__ import annotations

from dataclasses import dataclass, field

#: The slowdowns of its figures: of jobs that waited (slowdown 1 is left out there).
SLOWDOWN = ("slowdown mean", "slowdown median")
QUEUE = ("queue mean",)
WAIT = ("wait mean",)
ALL = (SLOWDOWN[0], *QUEUE, *WAIT)


@dataclass(frozen=True)
class Comparison:
    """
    One figure of a run against the same figure of another.

    Attributes
    ----------
    low, high
        Runs; ``low`` is said to have the lower figure, a similar one, or none that is higher.
    relation
        ``<``, ``~`` or ``<=``.
    """

    low: str
    high: str
    relation: str
    figure: str
    group: str = "all"


@dataclass(frozen=True)
class Claim:
    """What the thesis says, where, and what has to be compared."""

    where: str
    text: str
    comparisons: list[Comparison] = field(default_factory=list)


def below(
    lows: str, highs: str, figures: tuple[str, ...] = SLOWDOWN, group: str = "all"
) -> list[Comparison]:
    """Compare every one of some runs with every one of others, which are said to be higher."""
    return [
        Comparison(low, high, "<", figure, group)
        for low in lows.split()
        for high in highs.split()
        for figure in figures
    ]


def alike(runs: str, figures: tuple[str, ...] = SLOWDOWN, group: str = "all") -> list[Comparison]:
    """Compare the first of some runs with each of the others."""
    first, *others = runs.split()
    return [Comparison(first, other, "~", figure, group) for other in others for figure in figures]


def not_above(low: str, high: str, figures: tuple[str, ...] = SLOWDOWN) -> list[Comparison]:
    """Compare a run with another that is said not to be better."""
    return [Comparison(low, high, "<=", figure) for figure in figures]


_PRB, _SDPRB = "PRB-W PRB-D PRB-R", "SDPRB-W SDPRB-D SDPRB-R"
_IMPROVED = ("SDPRB PRB", "CPH-3 CPH-0", "CPH-1 CPH-0", "CPH-2 CPH-0", "CP-1 CP-0", "CP-2 CP-0",
             "CP-3 CP-0")  # fmt: skip


def _with_estimate(estimate: str, names: str) -> list[str]:
    return [f"{name}-{estimate}" for name in names.split()]


def _better_with_slowdown(estimate: str) -> list[Comparison]:
    comparisons = []
    for pair in _IMPROVED:
        low, high = _with_estimate(estimate, pair)
        comparisons += below(low, high, ALL)
    return comparisons


CLAIMS = (
    Claim(
        "3.3.1, p. 23", "with W, PRB and CPH are the best of five",
        below("PRB-W CPH-0-W", "SJF-W LJF-W EBF-W"),
    ),
    Claim("3.3.1, p. 23", "with W, LJF and SJF are the worst", below("EBF-W", "LJF-W SJF-W")),
    Claim(
        "3.3.1, p. 23", "R instead of W: SJF, CPH and EBF improve",
        below("SJF-R", "SJF-W") + below("CPH-0-R", "CPH-0-W") + below("EBF-R", "EBF-W"),
    ),
    Claim("3.3.1, p. 24", "R and D make LJF worse", below("LJF-W", "LJF-R LJF-D")),
    Claim(
        "3.3.1, p. 24", "D lies between W and R for SJF and EBF",
        [c for name in ("SJF", "EBF")
         for c in (*below(f"{name}-R", f"{name}-D"), *below(f"{name}-D", f"{name}-W"))],
    ),
    Claim("3.3.1, p. 24; 5.2.1", "PRB is the same with W, D and R", alike(_PRB)),
    Claim(
        "3.3.1, p. 25", "CPH-0 is worse with D than with W, and that than with R",
        below("CPH-0-W", "CPH-0-D") + below("CPH-0-R", "CPH-0-W"),
    ),
    Claim("3.3.1, p. 25", "SJF with D or R comes close to PRB and CPH",
          alike("SJF-R PRB-R CPH-0-R") + alike("SJF-D PRB-D CPH-0-D")),
    Claim("3.3.2, p. 25", "D shortens the queues of SJF and EBF, not those of CPH and LJF",
          below("SJF-D", "SJF-W", QUEUE) + below("EBF-D", "EBF-W", QUEUE)
          + not_above("CPH-0-W", "CPH-0-D", QUEUE) + not_above("LJF-W", "LJF-D", QUEUE)),
    Claim("3.3.4, p. 27", "with D, a slowdown priority betters PRB and CPH (the hypothesis)",
          below("SDPRB-D", "PRB-D", ALL) + below("CPH-3-D", "CPH-0-D", ALL)),
    Claim("5.2.1, p. 39", "SDPRB is better than PRB, whatever the estimate",
          [c for e in "WDR" for c in below(f"SDPRB-{e}", f"PRB-{e}")]),
    Claim("5.2.1, p. 39", "SDPRB-R is the best of the six, SDPRB-D the second",
          below("SDPRB-R", "SDPRB-D") + below("SDPRB-D", f"{_PRB} SDPRB-W")),
    Claim("5.2.1, p. 39", "SDPRB-W gains nothing over PRB", alike(f"SDPRB-W {_PRB}")),
    Claim("5.2.1, p. 40", "medium jobs: SDPRB-D is better than PRB, SDPRB-R better still",
          below("SDPRB-R", "SDPRB-D", group="medium") + below("SDPRB-D", _PRB, group="medium")),
    Claim("5.2.1, p. 40", "long jobs: PRB is better than SDPRB, whatever the estimate",
          below(_PRB, _SDPRB, group="long")),
    Claim("5.2.2, p. 41", "queue: SDPRB-D is near SDPRB-R, both below PRB",
          alike("SDPRB-D SDPRB-R", QUEUE) + below("SDPRB-D SDPRB-R", "PRB-D PRB-R", QUEUE)),
    Claim("5.2.3, p. 42", "wait: PRB and SDPRB-W alike, SDPRB-D shorter, SDPRB-R shortest",
          alike(f"SDPRB-W {_PRB}", WAIT) + below("SDPRB-D", "PRB-D PRB-R", WAIT)
          + below("SDPRB-R", "SDPRB-D", WAIT)),
    Claim("5.3.1, p. 43", "with W, CPH-0 to CPH-3 are alike",
          alike("CPH-0-W CPH-1-W CPH-2-W CPH-3-W")),
    Claim("5.3.1, p. 43", "with D, CPH-3 is the best and CPH-0 the worst of the four",
          below("CPH-3-D", "CPH-1-D CPH-2-D") + below("CPH-1-D CPH-2-D", "CPH-0-D")),
    Claim("5.3.1, p. 43", "CPH-1-D and CPH-3-D come close to CPH-1-R and CPH-3-R",
          alike("CPH-1-D CPH-1-R") + alike("CPH-3-D CPH-3-R")),
    Claim("5.3.1, p. 44", "medium jobs: the variants of CPH are alike, with D and with W",
          alike("CPH-0-D CPH-1-D CPH-2-D CPH-3-D", group="medium")
          + alike("CPH-0-W CPH-1-W CPH-2-W CPH-3-W", group="medium")),
    Claim("5.3.1, p. 45", "long jobs: W is the worst for every variant of CPH",
          [c for n in range(4)
           for c in below(f"CPH-{n}-D CPH-{n}-R", f"CPH-{n}-W", group="long")]),
    Claim("5.3.2, p. 45", "queue: CPH-3-D is the shortest, and near CPH-3-R",
          below("CPH-3-D", "CPH-0-D CPH-1-D CPH-2-D", QUEUE) + alike("CPH-3-D CPH-3-R", QUEUE)),
    Claim("5.3.2, p. 45", "CPH-2 gains nothing over CPH-0",
          [c for e in "WDR" for c in alike(f"CPH-2-{e} CPH-0-{e}", QUEUE)]),
    Claim("5.3.3, p. 46", "wait: the longest with CPH-0",
          [c for e in "WDR" for n in (1, 2, 3)
           for c in below(f"CPH-{n}-{e}", f"CPH-0-{e}", WAIT)]),
    Claim("5.4.1, p. 47", "with D, CP-1 and CP-2 are better than CP-0 and CP-3, CP-1 the best",
          below("CP-1-D CP-2-D", "CP-0-D CP-3-D") + below("CP-1-D", "CP-2-D")),
    Claim("5.4.1, p. 47", "CP-1-D is near CP-1-R", alike("CP-1-D CP-1-R")),
    Claim("5.4.1, p. 47", "CP-2-W is the worst of all CP, by mean slowdown",
          below("CP-0-W CP-1-W CP-3-W CP-0-D CP-1-D CP-2-D CP-3-D", "CP-2-W", SLOWDOWN[:1])),
    Claim("5.4.2, p. 47", "queue: CP-3-D is the shortest with D, and with R all are alike",
          below("CP-3-D", "CP-0-D CP-1-D CP-2-D", QUEUE)
          + alike("CP-0-R CP-1-R CP-2-R CP-3-R", QUEUE)),
    Claim("5.4.3, p. 48", "wait: D near R for CP, W the worst",
          [c for n in range(4)
           for c in (*alike(f"CP-{n}-D CP-{n}-R", WAIT),
                     *below(f"CP-{n}-D CP-{n}-R", f"CP-{n}-W", WAIT))]),
    Claim("5.5, p. 49", "the gain of SDPRB and CPH-3 with D is in short jobs",
          below("SDPRB-D", "PRB-D", SLOWDOWN[:1], "short")
          + below("CPH-3-D", "CPH-0-D", SLOWDOWN[:1], "short")
          + alike("SDPRB-D PRB-D", SLOWDOWN[:1], "medium")
          + alike("CPH-3-D CPH-0-D", SLOWDOWN[:1], "medium")),
    Claim("5.5, p. 49", "pure CP shows no relevant improvement with D",
          alike("CP-1-D CP-0-D", ALL) + alike("CP-3-D CP-0-D", ALL)),
    Claim("6, p. 50", "a slowdown priority improves the schedulers, with D",
          _better_with_slowdown("D")),
)  # fmt: skip
