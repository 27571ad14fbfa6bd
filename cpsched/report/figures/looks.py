"""
How each run looks in every figure: one colour per dispatcher, one line style per predictor, and a
name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cpsched.report.figures.style import BEHIND, INK, MARKERS, colour, dash
from cpsched.util.words import estimate

if TYPE_CHECKING:
    from collections.abc import Iterable

#: A run's dispatcher and predictor.
Who = tuple[str, str]
#: Runs with a colour and a name in one chart; others are behind them in grey.
MOST = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """
    How a run looks.

    Attributes
    ----------
    name
        Its dispatcher, with the predictor if there are several.
    colour
        Of its dispatcher; the baseline has the colour of text.
    dash, marker
        Of its predictor.
    is_base
        Whether it is a baseline.
    """

    name: str
    colour: str
    dash: Any
    marker: str
    is_base: bool

    @property
    def label(self) -> str:
        """The name, and whether it is a baseline."""
        said = self.is_base and "baseline" not in self.name
        return f"{self.name} (baseline)" if said else self.name


def looks(runs: Iterable[Who], bases: Iterable[Who] = ()) -> dict[Who, Look]:
    """
    Return how each run of a study looks, the same in all figures.

    Parameters
    ----------
    runs
        Dispatchers and predictors in the order of the study.
    bases
        Those that others are compared with.
    """
    every, bases = list(dict.fromkeys(runs)), set(bases)
    of_bases = {dispatcher for dispatcher, _ in bases}
    # The colour of text is the one baseline's; others are measured by it.
    plain = of_bases if len(of_bases) == 1 else set[str]()
    names = [name for name in dict.fromkeys(one for one, _ in every) if name not in plain]
    predictors = list(dict.fromkeys(one for _, one in every))
    colours = {name: colour(at) for at, name in enumerate(names)} | dict.fromkeys(plain, INK)
    return {
        (dispatcher, predictor): Look(
            name=dispatcher if len(predictors) == 1 else f"{dispatcher}, {estimate(predictor)}",
            colour=colours[dispatcher],
            dash=dash(predictors.index(predictor)),
            marker=MARKERS[predictors.index(predictor) % len(MARKERS)],
            is_base=(dispatcher, predictor) in bases,
        )
        for dispatcher, predictor in every
    }


def behind(look: Look) -> Look:
    """Return the look of a grey run behind others, without a name."""
    return Look(name="", colour=BEHIND, dash=look.dash, marker=look.marker, is_base=False)
