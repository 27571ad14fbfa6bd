"""How good forecasters were along a log: coverage, width and scores, beside trivial ones."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.forecast.replay import OURS, TRIVIAL
from cpsched.forecast.scores import ALPHA, crps, interval_score, ratio_interval
from cpsched.util.tables import Column, Table
from cpsched.util.words import counted, duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cpsched.forecast.replay import Replay
    from cpsched.util.types import FloatArray

#: What :class:`Judged` calls the two scores, and what people read.
SCORES = {"interval_score": "interval score", "crps": "CRPS"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """
    One mean score of a forecaster.

    Attributes
    ----------
    mean_s
        Seconds.
    ratio, interval
        To the score of the best trivial forecaster, with a 95 % interval; ``best`` is its name.
    best
        That forecaster.
    """

    mean_s: float
    ratio: float
    interval: tuple[float, float]
    best: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """
    How good a forecaster was.

    Attributes
    ----------
    forecaster
        Its name.
    forecasts
        How many are scored.
    coverage
        The share of the starts within the 80 % interval, ends included.
    width_s
        The mean width of this interval in seconds.
    interval_score, crps
        See :mod:`cpsched.forecast.scores`.
    """

    forecaster: str
    forecasts: int
    coverage: float
    width_s: float
    interval_score: Score
    crps: Score


def judge(found: Replay, seed: int) -> list[Judged]:
    """Return how good each forecaster was, ours first; ``seed`` is that of the intervals."""
    wait = found.wait
    bounds = {name: (_quantile(said, ALPHA / 2), _quantile(said, 1 - ALPHA / 2))
              for name, said in found.said.items()}  # fmt: skip
    scores = {
        "interval_score": {name: interval_score(*ends, wait) for name, ends in bounds.items()},
        "crps": {name: crps(said, wait) for name, said in found.said.items()},
    }
    told: dict[str, dict[str, Score]] = {name: {} for name in found.said}
    for kind, by_name in scores.items():
        best = min(TRIVIAL, key=lambda name: float(by_name[name].mean()))
        for name, values in by_name.items():
            told[name][kind] = Score(
                mean_s=float(values.mean()),
                ratio=float(values.mean() / max(by_name[best].mean(), 1e-9)),
                interval=ratio_interval(values, by_name[best], seed),
                best=best,
            )
    return [
        Judged(
            forecaster=name,
            forecasts=len(wait),
            coverage=float(((low <= wait) & (wait <= high)).mean()),
            width_s=float((high - low).mean()),
            **told[name],
        )
        for name, (low, high) in bounds.items()
    ]


def _quantile(said: FloatArray, level: float) -> FloatArray:
    """Return a quantile of S values of equal probability, value i at ``(i + 1/2) / S``."""
    found: FloatArray = np.quantile(said, level, axis=1, method="hazen")
    return found


def as_data(found: Replay, judged: list[Judged]) -> dict[str, Any]:
    """Return what was found in plain types."""
    return {
        "jobs": found.asked,
        "waited": found.waited,
        "left_out": {"never_started": found.unknown, "too_early": found.early},
        "forecasters": [asdict(one) for one in judged],
    }


def text(found: Replay, judged: list[Judged], width: int) -> str:
    """Return what was found as lines, without a newline at the end."""
    return "\n".join([_table(judged).text(width), "", *_sentences(found, judged, width)])


def _table(judged: list[Judged]) -> Table:
    columns = [
        Column("forecaster", "", tuple(one.forecaster for one in judged)),
        Column("forecasts", "", tuple(one.forecasts for one in judged)),
        Column("coverage", "", tuple(f"{one.coverage:.0%}" for one in judged)),
        Column("mean width", "", tuple(duration(round(one.width_s)) for one in judged)),
    ]
    for key, head in SCORES.items():
        scores = [getattr(one, key) for one in judged]
        columns += [
            Column(head, "", tuple(duration(round(score.mean_s)) for score in scores)),
            Column("", "", tuple(_ratio(score) for score in scores), joined=True),
        ]
    return Table("", tuple(columns))


def _ratio(score: Score) -> str:
    low, high = score.interval
    return f"×{score.ratio:.2f}" + ("" if low == high else f" ({low:.2f} to {high:.2f})")


def _verdict(ours: Judged) -> str:
    """Say whether a coverage differs from the promised 80 % by more than chance."""
    apart = ours.coverage - (1 - ALPHA)
    # Two standard errors; neighbouring forecasts are not independent, so this says little enough.
    if abs(apart) <= 2 * (ALPHA * (1 - ALPHA) / ours.forecasts) ** 0.5:
        return ""
    return ": they are too narrow on this log" if apart < 0 else ": they are too wide on this log"


def _sentences(found: Replay, judged: list[Judged], width: int) -> Iterator[str]:
    for key, name in SCORES.items():
        score = getattr(judged[0], key)
        low, high = score.interval
        verdict = (
            "better than" if high < 1 else "worse than" if low > 1 else "not clearly different from"
        )
        said = f"By {name}, '{OURS}' is {verdict} the best trivial forecaster ('{score.best}'):"
        yield from wrap(f"{said} {_ratio(score)}.", width)
    yield from wrap(
        f"{judged[0].coverage:.0%} of the starts are within its 80 % intervals"
        f"{_verdict(judged[0])}.",
        width,
    )
    left = [f"{counted(found.unknown, 'forecast')} of jobs that never started"] * bool(
        found.unknown
    )
    left += [f"{counted(found.early, 'forecast')} before all could say something"] * bool(
        found.early
    )
    yield from wrap(
        f"{found.waited:,} of {counted(found.asked, 'job')} had to wait; a sample was forecast at"
        f" submit{', left out: ' + ' and '.join(left) if left else ''}. Lower scores are better;"
        " ratios are to the best trivial forecaster, with 95 % intervals over blocks of"
        " neighbouring forecasts.",
        width,
    )
    yield from (line for name, how in TRIVIAL.items() for line in wrap(f"'{name}': {how}.", width))
