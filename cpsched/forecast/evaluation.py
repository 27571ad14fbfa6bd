"""How good forecasters were along a log: coverage, width and scores, beside trivial ones."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.forecast.replay import TRIVIAL
from cpsched.forecast.scores import ALPHA, crps, interval_score, ratio_interval
from cpsched.util.terminal import table_text
from cpsched.util.words import counted, duration, percent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cpsched.forecast.replay import ForecastReplay
    from cpsched.util.types import FloatArray

#: What :class:`ForecasterScores` calls the two scores, and what people read.
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
class ForecasterScores:
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


def score_forecasters(replay: ForecastReplay, seed: int) -> list[ForecasterScores]:
    """Return the scores of each forecaster, cpsched's first. ``seed`` is that of the intervals."""
    wait = replay.wait
    bounds = {name: (_quantile(waits, ALPHA / 2), _quantile(waits, 1 - ALPHA / 2))
              for name, waits in replay.waits.items()}  # fmt: skip
    scores = {
        "interval_score": {name: interval_score(*ends, wait) for name, ends in bounds.items()},
        "crps": {name: crps(waits, wait) for name, waits in replay.waits.items()},
    }
    scores_of: dict[str, dict[str, Score]] = {name: {} for name in replay.waits}
    for kind, by_name in scores.items():
        best = min(TRIVIAL, key=lambda name: float(by_name[name].mean()))
        for name, values in by_name.items():
            scores_of[name][kind] = Score(
                mean_s=float(values.mean()),
                ratio=float(values.mean() / max(by_name[best].mean(), 1e-9)),
                interval=ratio_interval(values, by_name[best], seed),
                best=best,
            )
    return [
        ForecasterScores(
            forecaster=name,
            forecasts=len(wait),
            coverage=float(((low <= wait) & (wait <= high)).mean()),
            width_s=float((high - low).mean()),
            **scores_of[name],
        )
        for name, (low, high) in bounds.items()
    ]


def _quantile(waits: FloatArray, level: float) -> FloatArray:
    """Return a quantile of S values of equal probability, value i at ``(i + 1/2) / S``."""
    quantile: FloatArray = np.quantile(waits, level, axis=1, method="hazen")
    return quantile


def as_data(replay: ForecastReplay, all_scores: list[ForecasterScores]) -> dict[str, Any]:
    """Return the scores in plain types."""
    return {
        "jobs": replay.considered,
        "waited": replay.waited,
        "left_out": {"never_started": replay.unknown, "too_early": replay.early},
        "forecasters": [asdict(scores) for scores in all_scores],
    }


def text(replay: ForecastReplay, all_scores: list[ForecasterScores], width: int) -> str:
    """Return the scores as lines, without a newline at the end."""
    return "\n".join([_table(all_scores, width), "", *_sentences(replay, all_scores, width)])


def _table(all_scores: list[ForecasterScores], width: int) -> str:
    headers = ["forecaster", "forecasts", "coverage", "mean width"]
    rows = [
        [of.forecaster, f"{of.forecasts:,}", percent(of.coverage), duration(round(of.width_s))]
        for of in all_scores
    ]
    for key, head in SCORES.items():
        headers += [head, "ratio"]
        for row, of in zip(rows, all_scores, strict=True):
            score = getattr(of, key)
            row += [duration(round(score.mean_s)), _ratio(score)]
    return table_text(headers, rows, width=width)


def _ratio(score: Score) -> str:
    low, high = score.interval
    return f"×{score.ratio:.2f}" + ("" if low == high else f" ({low:.2f} to {high:.2f})")


def _verdict(ours: ForecasterScores) -> str:
    """Return whether a coverage differs significantly from the nominal 80 %, in words."""
    apart = ours.coverage - (1 - ALPHA)
    # Two standard errors; neighbouring forecasts are not independent, so this says little enough.
    if abs(apart) <= 2 * (ALPHA * (1 - ALPHA) / ours.forecasts) ** 0.5:
        return ""
    return (
        ", so they are too narrow on this log"
        if apart < 0
        else ", so they are too wide on this log"
    )


def _sentences(
    replay: ForecastReplay, all_scores: list[ForecasterScores], width: int
) -> Iterator[str]:
    for key, name in SCORES.items():
        score = getattr(all_scores[0], key)
        low, high = score.interval
        verdict = (
            "better than"
            if high < 1
            else "worse than"
            if low > 1
            else "not significantly different from"
        )
        comparison = (
            f"{name.capitalize() if name != 'CRPS' else name}: {_ratio(score)}, {verdict} the best"
            f" simple baseline ('{score.best}')."
        )
        yield from wrap(comparison, width)
    yield from wrap(
        f"Coverage: {percent(all_scores[0].coverage)} of the starts are within the 80 % intervals"
        f"{_verdict(all_scores[0])}.",
        width,
    )
    left = [f"{counted(replay.unknown, 'forecast')} of jobs that never started"] * bool(
        replay.unknown
    )
    left += [f"{counted(replay.early, 'forecast')} made before every baseline had data"] * bool(
        replay.early
    )
    yield from wrap(
        f"{replay.waited:,} of {counted(replay.considered, 'job')} had to wait, and a sample of"
        f" them was forecast at submit.{' Excluded: ' + ' and '.join(left) + '.' if left else ''}"
        " Lower scores are better. Ratios are to the best simple baseline, with 95 % intervals over"
        " blocks of neighbouring forecasts.",
        width,
    )
    yield from (line for name, how in TRIVIAL.items() for line in wrap(f"'{name}': {how}.", width))
