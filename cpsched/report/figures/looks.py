"""How each run looks in every figure: a colour a dispatcher, a line style a predictor, a name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cpsched.report.figures.style import DASHES, INK, colour

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from cpsched.study.results import RunKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """
    How a run looks.

    Attributes
    ----------
    name
        In legends.
    colour
        Of its dispatcher; the baseline has the colour of text.
    dash
        Of its predictor.
    is_base
        Whether it is a baseline.
    """

    name: str
    colour: str = INK
    dash: Any = DASHES[0]
    is_base: bool = False

    @property
    def label(self) -> str:
        """The name, and whether it is a baseline."""
        is_unsaid = self.is_base and "baseline" not in self.name
        return f"{self.name} (baseline)" if is_unsaid else self.name


def looks(names: Mapping[RunKey, str], bases: Collection[RunKey]) -> dict[RunKey, Look]:
    """Return the look of each run, the same in all figures, in the study's order of runs."""
    of_bases = {dispatcher for _, _, dispatcher, _ in bases}
    # The colour of text is that of one baseline dispatcher; others are measured by it.
    uncoloured = of_bases if len(of_bases) == 1 else set[str]()
    coloured = [name for name in dict.fromkeys(run[2] for run in names) if name not in uncoloured]
    predictors = list(dict.fromkeys(run[3] for run in names))
    return {
        run: Look(
            name=name,
            colour=INK if run[2] in uncoloured else colour(coloured.index(run[2])),
            dash=DASHES[predictors.index(run[3]) % len(DASHES)],
            is_base=run in bases,
        )
        for run, name in names.items()
    }
