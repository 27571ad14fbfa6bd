"""Who gains and who pays under the policy that gains most, as far as intervals say so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cpsched.study.gains import NOTICED
from cpsched.study.verdicts import HIGHER, LOWER, is_clear
from cpsched.util.words import counted, duration

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cpsched.study.tables import Tables

Row = dict[str, Any]
#: Most groups named whose change is not certain: those whose waits change most in all.
_MOST = 3


def who_pays(tables: Tables, place: str, about: tuple[str, str]) -> Iterator[str]:
    """
    Yield in sentences which jobs wait less and which longer under a policy, by length and size.

    Parameters
    ----------
    place
        ``workload on system``.
    about
        Its dispatcher and predictor.
    """
    rows = [
        row
        for row in tables.gains_about(place, about)
        if row["kind"] in ("length", "size") and abs(row["difference"]) >= NOTICED
    ]
    told = {way: [row for row in rows if row["verdict"].startswith(way)] for way in (LOWER, HIGHER)}
    who = about[0]
    if told[LOWER]:
        yield f"Under {who}, these wait less: {_listed(told[LOWER])}."
    if told[HIGHER]:
        yield f"These pay for it with longer waits: {_listed(told[HIGHER])}."
    unclear = sorted(
        (row for row in rows if not is_clear(row["verdict"])), key=lambda row: -abs(row["hours"])
    )
    if unclear:
        left = len(unclear) - _MOST
        more = f"; and {counted(left, 'more group')}" if left > 0 else ""
        yield f"Changed under {who}, but not for certain: {_listed(unclear[:_MOST])}{more}."


def _listed(rows: Sequence[Row]) -> str:
    """Return groups in words, those of one kind together."""
    kinds = {
        row["kind"]: [_said(one) for one in rows if one["kind"] == row["kind"]] for row in rows
    }
    return "; ".join(f"by {kind}, {'; '.join(said)}" for kind, said in kinds.items())


def _said(row: Row) -> str:
    wait, base = (duration(round(row[f"{of}wait_mean_s"])) for of in ("", "base_"))
    ends = [row["difference_low"], row["difference_high"]]
    shown = "" if None in ends else " ({} to {})".format(*map(_signed, ends))
    return f"{row['group']} jobs {wait} instead of {base}{shown}"


def _signed(seconds: float) -> str:
    return f"{'-' if seconds < 0 else '+'}{duration(abs(round(seconds)))}"
