"""What a report is made of: a study's folder, a folder of runs, or one run."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cpsched.errors import RunError
from cpsched.study.store import DESCRIPTION
from cpsched.study.tables import make_tables

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from cpsched.study.tables import Tables


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Source:
    """
    What a report is made of.

    Attributes
    ----------
    folder
        As it was named.
    tables
        Of all runs in it.
    study
        The study as ``study.json`` has it, or None.
    failures
        What failed: the run's name and the error.
    """

    folder: Path
    tables: Tables
    study: Mapping[str, Any] | None
    failures: tuple[tuple[str, str], ...]


def open_source(folder: str | Path, baseline: str | None = None) -> Source:
    """
    Read what there is in a folder.

    Parameters
    ----------
    folder
        Made by ``cpsched compare`` or ``cpsched simulate``; or a run, or a folder of runs.
    baseline
        As for :func:`~cpsched.study.make_tables`.

    Raises
    ------
    ConfigError
        If no run has the baseline's dispatcher.
    RunError
        If there is no run, or one is damaged.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise RunError(f"{folder} is not a folder; name one made by cpsched compare or simulate")
    tables = make_tables(folder, baseline)
    return Source(
        folder=folder,
        tables=tables,
        study=_study(folder / DESCRIPTION),
        failures=_failures(folder / "failed", tables.results.missing),
    )


def _study(path: Path) -> Mapping[str, Any] | None:
    if not path.is_file():
        return None
    study = json.loads(path.read_text(encoding="utf-8")).get("study")
    return study if isinstance(study, dict) else None


def _failures(folder: Path, missing: Collection[str]) -> tuple[tuple[str, str], ...]:
    """Return what failed of the missing; a file that cannot be read says that something has."""
    found = []
    # What failed for another study in this folder is not missing here.
    for path in sorted(path for path in folder.glob("*.json") if path.stem in missing):
        try:
            error = str(json.loads(path.read_text(encoding="utf-8"))["error"])
        except (OSError, ValueError, LookupError, TypeError):
            error = f"see {path}"
        found.append((path.stem, error))
    return tuple(found)
