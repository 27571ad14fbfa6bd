"""Who gains and who pays under the policy that gains most, as far as intervals say so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpsched.api.simulation import SIZES
from cpsched.api.studies import HIGHER, LOWER, Difference
from cpsched.api.tools import duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cpsched.api.studies import Tables

#: Groups of jobs by length, in words.
_LENGTHS = {"short": "short", "medium": "medium", "long": "long"}
_WAIT = "wait_mean_s"


def who_pays(tables: Tables, about: tuple[str, str]) -> Iterator[str]:
    """
    Yield in sentences which jobs wait less and which longer under a policy.

    Parameters
    ----------
    about
        Its dispatcher and predictor.
    """
    rows = [
        one
        for one in map(Difference, tables.differences.rows())
        if one.key[2:] == about and one.figure == _WAIT and one.row["class"] in {*SIZES, *_LENGTHS}
    ]
    told = {
        way: [_said(one) for one in rows if one.verdict.startswith(way)] for way in (LOWER, HIGHER)
    }
    who = about[0]
    if told[LOWER]:
        yield f"Under {who}, these wait less: {'; '.join(told[LOWER])}."
    if told[HIGHER]:
        yield f"These pay for it with longer waits: {'; '.join(told[HIGHER])}."
    elif rows:
        yield "No length or size of jobs clearly waits longer; some single jobs do."


def _said(one: Difference) -> str:
    group = str(one.row["class"])
    wait, base = (duration(value) if value else "0 s" for value in (one.value, one.base_value))
    interval = "" if one.interval is None else ", ×{:.2f} to {:.2f}".format(*one.interval)
    values = f"{wait} in both" if wait == base else f"{wait} instead of {base}"
    return f"{group} jobs {values}{interval}"
