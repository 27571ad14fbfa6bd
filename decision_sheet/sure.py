"""How sure an answer is: one word, by a rule that stands on the sheet."""

from __future__ import annotations

from typing import Any

from cpsched.api.studies import ONE_RUN, is_clear, is_of_log

#: The row of the sheet that has it.
SURE = "How sure"
#: Words, and when each is used; the first that applies.
RULE = {
    "baseless": "the baseline does not reproduce the recorded waits, or log and machine do not fit",
    "none": "no wait changes",
    "unknown": "one run each, which confirms no difference; repeat to confirm",
    "open": "the 95 % interval holds no change, or changes below 1 %",
    "bought": "it does not, but more jobs are stopped, killed or never run",
    "likely": "nothing of this, but the record is reproduced roughly or unknown, or the days of the"
    " log do not confirm it",
    "sure": "nothing of this, and the record is reproduced closely",
}


def how_sure(row: dict[str, Any], record: str, *, loses: bool) -> str:
    """
    Return the word for a change of the mean wait.

    Parameters
    ----------
    row
        Of the table of gains, of all jobs.
    record
        How closely the baseline reproduces the record: ``closely``, ``roughly``, ``not``, or
        nothing where there is no record.
    loses
        Whether more jobs than in the baseline are stopped, killed or never run.
    """
    if record == "not":
        return "baseless"
    if not (row["difference"] or row["shorter"] or row["longer"]):
        return "none"
    if row["verdict"] == ONE_RUN:
        return "unknown"
    if not is_clear(row["verdict"]):
        return "open"
    if loses:
        return "bought"
    return "sure" if record == "closely" and not is_of_log(row["verdict"]) else "likely"
