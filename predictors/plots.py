"""
The figure of evaluations: how answers get better with the log.

matplotlib is an extra and is only imported when something is drawn.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.api.errors import ConfigError
from cpsched.api.studies import style

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cpsched.api.logs import Fitted
    from cpsched.api.model import AnyArray, FloatArray
    from predictors.evaluation import Evaluation

#: The files.
FILES = ("learning-curve.svg", "learning-curve.png")
#: Predictors that no longer fit into one row of a legend.
_WIDEST = 5
#: Points of a line over the log, of which each shows a tenth.
_POINTS, _WIDTH = 60, 10


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
    Draw errors of the newest jobs as the log goes on, those included that are not scored.

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
        The files; the same from the same evaluations.

    Raises
    ------
    ConfigError
        If matplotlib is not installed.
    """
    # A figure that is never shown needs no window system, and none is asked for.
    with style.styled("learning-curve"):
        figure = style.canvas(7.2, 3.2)
        mean, median = figure.subplots(1, 2)
        for index, item in enumerate(evaluations):
            runtime, said = fitted.workload.runtime[item.rows], item.runtime_estimate
            off = np.abs(np.log(np.maximum(said, 1)) - np.log(np.maximum(runtime, 1)))
            how = {
                "color": style.colour(index),
                # Another dash the second time round, so that few predictors look alike.
                "linestyle": style.dash(index + index // len(style.COLOURS)),
                "linewidth": 1.3,
            }
            ends, errors = lately(np.abs(said - runtime) / 60)
            mean.plot(ends / 1000, errors, label=item.predictor, **how)
            median.plot(ends / 1000, lately(off, np.median)[1], **how)
        for panel, label in ((mean, "mean absolute error (min)"), (median, "median |ln error|")):
            panel.axvspan(0, evaluations[0].scored / 1000, color="#000000", alpha=0.06, linewidth=0)
            panel.set(xlabel="jobs submitted (thousands)", ylabel=label)
            panel.set_xlim(0, len(evaluations[0].rows) / 1000)
            panel.set_ylim(bottom=0)
        handles, labels = mean.get_legend_handles_labels()
        columns = len(labels) if len(labels) < _WIDEST else -(-len(labels) // 2)
        figure.legend(handles, labels, loc="outside upper center", ncols=columns, handlelength=3)
        paths = [folder / name for name in FILES]
        for path in paths:
            path.write_bytes(style.save(figure, path.suffix[1:]))
    return paths


def lately(values: FloatArray, what: Any = np.mean) -> tuple[AnyArray, FloatArray]:
    """
    Return numbers of jobs, and what the values of the newest tenth of so many come to.

    Shorter parts would show how jobs differ from week to week, not what is learnt.
    """
    num = len(values)
    width = max(num // _WIDTH, 1)
    ends = np.unique(np.linspace(max(width // _WIDTH, 1), num, _POINTS).astype(np.int64))
    return ends, np.array([what(values[max(end - width, 0) : end]) for end in ends.tolist()])
