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
_MAX_SHOWN = 3


def wait_changes(tables: Tables, case: str, configuration: tuple[str, str]) -> Iterator[str]:
    """
    Yield in sentences which jobs wait less and which longer under a policy, by length and size.

    Parameters
    ----------
    case
        ``workload on system``.
    configuration
        Its dispatcher and predictor.
    """
    rows = [
        row
        for row in tables.gains_about(case, configuration)
        if row["kind"] in ("length", "size") and abs(row["difference"]) >= NOTICED
    ]
    changed = {
        way: [row for row in rows if row["verdict"].startswith(way)] for way in (LOWER, HIGHER)
    }
    dispatcher = configuration[0]
    if changed[LOWER]:
        yield f"Under {dispatcher}, these wait less: {_listed(changed[LOWER])}."
    if changed[HIGHER]:
        yield f"These wait longer: {_listed(changed[HIGHER])}."
    unclear = sorted(
        (row for row in rows if not is_clear(row["verdict"])), key=lambda row: -abs(row["hours"])
    )
    if unclear:
        left = len(unclear) - _MAX_SHOWN
        more = f"; and {counted(left, 'more group')}" if left > 0 else ""
        listed = _listed(unclear[:_MAX_SHOWN])
        yield f"Changed under {dispatcher}, but not for certain: {listed}{more}."


def _listed(rows: Sequence[Row]) -> str:
    """Return groups in words, those of one kind together."""
    kinds = {
        kind: [_in_words(row) for row in rows if row["kind"] == kind]
        for kind in dict.fromkeys(row["kind"] for row in rows)
    }
    return "; ".join(f"by {kind}, {'; '.join(groups)}" for kind, groups in kinds.items())


def _in_words(row: Row) -> str:
    wait, base = (duration(round(row[f"{of}wait_mean_s"])) for of in ("", "base_"))
    ends = [row["difference_low"], row["difference_high"]]
    shown = "" if None in ends else " ({} to {})".format(*map(_signed, ends))
    return f"{row['group']} jobs {wait} instead of {base}{shown}"


def _signed(seconds: float) -> str:
    return f"{'-' if seconds < 0 else '+'}{duration(abs(round(seconds)))}"
