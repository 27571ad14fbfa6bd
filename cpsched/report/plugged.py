"""Sections of the report that other packages bring (group ``cpsched.report_sections``)."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from cpsched.base import registry
from cpsched.show.readable import Titled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cpsched.study.results import RunResult


def plugged(runs_of: Mapping[str, Sequence[RunResult]]) -> list[Titled]:
    """
    Return the tables of all such sections, for the runs of each workload and system.

    A section that fails is left out and named in a warning: the rest of the report is right.
    """
    found: list[Titled] = []
    for name in registry.names("report_sections"):
        try:
            section = registry.load("report_sections", name)
            for place, runs in runs_of.items():
                found += [Titled(place, name.replace("-", " "), one) for one in section(runs)]
        except Exception as error:
            warnings.warn(
                f"section '{name}' of the report is left out: {error}", RuntimeWarning, stacklevel=2
            )
    return found
