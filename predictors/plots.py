"""
Figures of evaluations: errors by runtime, bounds, and how answers get better with the log.

matplotlib is an extra and is only imported when something is drawn.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.api.errors import ConfigError
from cpsched.api.simulation import CLASSES
from cpsched.api.studies import style
from predictors.accuracy import BOUND

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cpsched.api.logs import Fitted
    from cpsched.api.model import AnyArray, FloatArray
    from predictors.evaluation import Evaluation

#: Names of the figures; each is written with every suffix.
FIGURES = ("error-by-runtime", "bounds", "learning-curve")
SUFFIXES = (".svg", ".png")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
#: Predictors that no longer fit into one row of a legend.
_WIDEST = 5
#: Points of a line over the log, of which each shows a tenth; and groups of jobs by prediction.
_POINTS, _WIDTH, _DEPTHS = 60, 10, 10


def check() -> None:
    """
    Refuse to draw before anything else is done.

    Raises
    ------
    ConfigError
        If matplotlib is not installed.
    """
    if find_spec("matplotlib") is None:
        raise ConfigError(
            "needs matplotlib, which is not installed; it is in the extra 'plots' of cpsched",
            key="--plots",
        )


def draw(folder: Path, fitted: Fitted, evaluations: Sequence[Evaluation]) -> list[Path]:
    """
    Write all figures to a folder, as SVG and PNG; the same files from the same figures.

    Parameters
    ----------
    folder
        Must exist.
    fitted
        The jobs that were predicted.
    evaluations
        One or more, of the same jobs.

    Returns
    -------
    list
        The files.

    Raises
    ------
    ConfigError
        If matplotlib is not installed.
    """
    written = []
    for name, make in zip(FIGURES, (_errors, _bounds, _learning), strict=True):
        # A figure that is never shown needs no window system, and none is asked for.
        with style.styled(name):
            figure = make(fitted, evaluations)
            for suffix in SUFFIXES:
                path = folder / f"{name}{suffix}"
                path.write_bytes(style.save(figure, suffix[1:]))
                written.append(path)
    return written


def _figure(width: float, height: float, columns: int, **how: Any) -> tuple[Any, Any]:
    figure = style.canvas(width, height)
    return figure, figure.subplots(1, columns, squeeze=False, **how)[0]


def _three_digits(value: float) -> str:
    """Return a number with three digits, all of them if it has more before the point."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _errors(fitted: Fitted, evaluations: Sequence[Evaluation]) -> Any:  # noqa: ARG001
    """Mean absolute error of short, medium and long jobs, one panel each."""
    height = 1.1 + 0.28 * len(evaluations)
    figure, panels = _figure(7.2, height, len(CLASSES), sharey=True)
    places = np.arange(len(evaluations))
    for panel, name in zip(panels, CLASSES, strict=True):
        scores = [item.by_class[name] for item in evaluations]
        # No bar where there are no jobs: an error of 0 would be perfect.
        minutes = [
            np.nan if score.mean_error_s is None else score.mean_error_s / 60 for score in scores
        ]
        colours = [style.colour(index) for index in range(len(evaluations))]
        bars = panel.barh(places, minutes, height=0.65, color=colours)
        said = ["-" if np.isnan(value) else _three_digits(value) for value in minutes]
        panel.bar_label(bars, said, padding=2, fontsize=8)
        panel.margins(x=0.22)
        panel.grid(visible=False, axis="y")
        panel.set_title(f"ran {CLASSES[name]}\n{scores[0].jobs:,} jobs", fontsize=9)
        panel.tick_params(axis="y", length=0)
    panels[0].set_yticks(places, [item.predictor for item in evaluations])
    panels[0].invert_yaxis()
    figure.supxlabel("mean absolute error (min)", fontsize=9)
    return figure


def _bounds(fitted: Fitted, evaluations: Sequence[Evaluation]) -> Any:
    """Share of runtimes above the bound, over the log and by predicted length."""
    figure, (over_log, by_length) = _figure(7.2, 3.2, 2, sharey=True)
    for index, item in enumerate(evaluations):
        above = 100.0 * _exceeded(fitted, item)[item.scored :]
        ends, shares = _lately(above)
        how = _how(index)
        over_log.plot((item.scored + ends) / 1000, shares, label=item.predictor, **how)
        plan = item.runtime_estimate[item.scored :] / 3600
        edges = np.unique(np.quantile(plan, np.linspace(0, 1, _DEPTHS + 1)))
        groups = np.digitize(plan, edges[1:-1])
        chosen = [groups == group for group in np.unique(groups) if (groups == group).any()]
        by_length.plot(
            [np.median(plan[mask]) for mask in chosen], [above[mask].mean() for mask in chosen],
            marker=_MARKERS[index % len(_MARKERS)], markersize=4, **how,
        )  # fmt: skip
    for panel in (over_log, by_length):
        panel.axhline(100 * (1 - BOUND), color="#555555", linewidth=0.8, zorder=1)
        panel.set_ylim(bottom=0)
    over_log.set(xlabel="jobs submitted (thousands)", ylabel="runtimes above the bound (%)")
    by_length.set(xlabel="predicted runtime (h)", xscale="log")
    by_length.xaxis.set_major_formatter(style.plain)
    by_length.xaxis.set_minor_formatter("")
    over_log.annotate(
        "wanted", (1, 100 * (1 - BOUND)), xycoords=("axes fraction", "data"), fontsize=8,
        xytext=(2, 0), textcoords="offset points", ha="left", va="center", color="#555555",
    )  # fmt: skip
    _legend(figure, over_log, evaluations)
    return figure


def _learning(fitted: Fitted, evaluations: Sequence[Evaluation]) -> Any:
    """Errors of the newest jobs as the log goes on, those included that are not scored."""
    figure, (mean, median) = _figure(7.2, 3.2, 2)
    for index, item in enumerate(evaluations):
        runtime = fitted.workload.runtime[item.rows]
        error = np.abs(item.runtime_estimate - runtime) / 60
        off = np.abs(np.log(np.maximum(item.runtime_estimate, 1)) - np.log(np.maximum(runtime, 1)))
        ends, errors = _lately(error)
        mean.plot(ends / 1000, errors, label=item.predictor, **_how(index))
        ends, offs = _lately(off, np.median)
        median.plot(ends / 1000, offs, **_how(index))
    for panel, label in ((mean, "mean absolute error (min)"), (median, "median |ln error|")):
        panel.axvspan(0, evaluations[0].scored / 1000, color="#000000", alpha=0.06, linewidth=0)
        panel.set(xlabel="jobs submitted (thousands)", ylabel=label)
        panel.set_xlim(0, len(evaluations[0].rows) / 1000)
        panel.set_ylim(bottom=0)
    _legend(figure, mean, evaluations)
    return figure


def _exceeded(fitted: Fitted, item: Evaluation) -> FloatArray:
    """Return 1 for each job that ran beyond its bound, its runtime cut at the requested time."""
    workload = fitted.workload
    cut = np.minimum(workload.runtime[item.rows], workload.requested_time[item.rows])
    return (cut > item.runtime_bound).astype(np.float64)


def _lately(values: FloatArray, what: Any = np.mean) -> tuple[AnyArray, FloatArray]:
    """
    Return numbers of jobs, and what the values of the newest tenth of so many come to.

    Shorter parts would show how jobs differ from week to week, not what is learnt.
    """
    num = len(values)
    width = max(num // _WIDTH, 1)
    ends = np.unique(np.linspace(max(width // _WIDTH, 1), num, _POINTS).astype(np.int64))
    return ends, np.array([what(values[max(end - width, 0) : end]) for end in ends.tolist()])


def _how(index: int) -> dict[str, Any]:
    return {
        "color": style.colour(index),
        # Another dash the second time round, so that few predictors look alike.
        "linestyle": style.dash(index + index // len(style.COLOURS)),
        "linewidth": 1.3,
    }


def _legend(figure: Any, panel: Any, evaluations: Sequence[Evaluation]) -> None:
    """Put one legend above all panels."""
    handles, labels = panel.get_legend_handles_labels()
    columns = len(evaluations) if len(evaluations) < _WIDEST else -(-len(evaluations) // 2)
    figure.legend(handles, labels, loc="outside upper center", ncols=columns, handlelength=3)
