"""Finished runs of ``cpsched compare``."""

from __future__ import annotations

import json
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
        description = json.loads((folder / "study.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise measure.BenchmarkError(f"{folder} is not a folder of a study ({error})") from None
    for place in description["runs"]:
        run = folder / "runs" / place["folder"]
        if (run / "run.json").is_file():
            yield place, run
