"""
What scenarios and groups of jobs are called on the sheet.

Scenarios have letters. On an anonymous sheet users, accounts, queues and the like have numbers, the
same wherever they appear, and log, machine and files have no name.
"""

from __future__ import annotations

from dataclasses import replace
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any

from cpsched.api.tools import Spec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cpsched.api.studies import Tables

#: Kinds of groups whose names are somebody's; lengths and sizes are our own words.
_OURS = ("all", "length", "size", "GPU")
#: What options of changes name, by what tables call that.
KINDS = {"user": "user", "queue": "queue", "partition": "partition", "group": "account",
         "qos": "QOS", "name": "job name"}  # fmt: skip


class Names:
    """
    Names as they are, or numbers instead of them.

    Parameters
    ----------
    anonymous
        Whether names are replaced. Numbers count up in order of first use.
    """

    def __init__(self, *, anonymous: bool) -> None:
        self.anonymous = anonymous
        self._known: dict[str, dict[str, str]] = {}

    def of(self, kind: str, name: str) -> str:
        """Return what something of a kind is called."""
        if not self.anonymous or kind in _OURS:
            return name
        known = self._known.setdefault(kind, {})
        return known.setdefault(name, str(len(known) + 1))

    def place(self, workload: str, system: str) -> str:
        """Return what was simulated where."""
        return "a log on its machine" if self.anonymous else f"{workload} on {system}"

    def estimate(self, predictor: str) -> str:
        """Return a predictor without the files it names."""
        return plain(predictor) if self.anonymous or "/" in predictor else predictor


def plain(specification: str) -> str:
    """Return a specification with ``a file`` for each path in it."""
    spec = Spec.parse(specification)
    if "/" in spec.name:
        return "a file"
    options = (f"{key} {'a file' if '/' in value else value}" for key, value in spec.options)
    return " with ".join([spec.name, *([", ".join(options)] if spec.options else [])])


def letters(labels: Iterable[str], baseline: str) -> dict[str, str]:
    """Return the letter of each scenario; the baseline keeps its name."""
    others = [label for label in labels if label != baseline]
    return {
        baseline: "baseline",
        **{
            label: ascii_uppercase[at] if at < len(ascii_uppercase) else f"S{at + 1}"
            for at, label in enumerate(others)
        },
    }


def renamed(tables: Tables, names: Names, called: dict[str, str]) -> Tables:
    """
    Return tables in which scenarios have letters, and groups the names of the sheet.

    All that is said of a study comes from its tables, so it is said in these names.
    """

    def row(old: dict[str, Any]) -> dict[str, Any]:
        new = dict(old)
        for begin in ("", "base_"):
            if f"{begin}dispatcher" in old:
                new[f"{begin}dispatcher"] = called[old[f"{begin}dispatcher"]]
        if "group" in old:
            new["group"] = names.of(old["kind"], old["group"])
        return new

    def of(rows: Any) -> Any:
        made = [row(one) for one in rows.rows()]
        return replace(rows, columns={
            name: tuple(one[name] for one in made) for name in rows.columns
        })  # fmt: skip

    results = tables.results
    runs = tuple(
        replace(
            run,
            dispatcher=called[run.dispatcher],
            changes=tuple(_renamed(change, names) for change in run.changes),
        )
        for run in results.runs
    )
    base = replace(results.baseline, dispatcher="baseline")
    return replace(
        tables,
        results=replace(results, runs=runs, baseline=base),
        **{
            name: of(getattr(tables, name))
            for name in ("summary", "outcomes", "differences", "gains", "record")
        },
    )


def _renamed(change: str, names: Names) -> str:
    """Return a change in whose specification names are those of the sheet."""
    spec = Spec.parse(change)
    if spec.name not in ("drop", "keep", "max-time"):
        return change
    options = tuple(
        (key, names.of(KINDS[key], value) if key in KINDS else value) for key, value in spec.options
    )
    return str(Spec(spec.name, options))
