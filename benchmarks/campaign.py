"""Finished runs of ``cpsched compare``, and files in which figures of runs are kept."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import measure

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def finished(folder: Path) -> Iterator[tuple[dict[str, Any], Path]]:
    """
    Yield the finished runs of a study's folder: their labels and seed, and their folder.

    Raises
    ------
    BenchmarkError
        If it is not the folder of a study.
    """
    try:
        about = json.loads((folder / "study.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise measure.BenchmarkError(f"{folder} is not a folder of a study ({error})") from None
    for place in about["runs"]:
        run = folder / "runs" / place["folder"]
        if (run / "run.json").is_file():
            yield place, run


class Results:
    """
    A file of results, one JSON line a run; a later line of the same case counts.

    Parameters
    ----------
    path
        Made when the first result is added; None: results are kept in memory only.
    kind
        The dataclass of its cases.
    """

    def __init__(self, path: Path | None, kind: Any) -> None:
        self.path, self._kind = path, kind
        self.rows: dict[Any, dict[str, Any]] = {}
        if path is not None and path.is_file():
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                self._take(line, number)

    def _take(self, line: str, number: int) -> None:
        try:
            row = json.loads(line)
            self.rows[self._kind(**row["case"])] = row
        except (ValueError, KeyError, TypeError) as error:
            raise measure.BenchmarkError(
                f"{self.path}, line {number}: not a result of a run ({error}); delete the line"
            ) from None

    def add(self, case: Any, found: dict[str, Any]) -> None:
        """Keep a result, unless the same is there already."""
        line = json.dumps({"case": asdict(case), **found})
        row = json.loads(line)
        if self.rows.get(case) == row:
            return
        self.rows[case] = row
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as out:
                out.write(line + "\n")
