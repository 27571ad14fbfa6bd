"""What a report is made of: an experiment's folder, a folder of runs, or one run."""

from __future__ import annotations

import json
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cpsched.errors import RunError
from cpsched.study.folder import MARK, find_runs
from cpsched.study.store import DESCRIPTION
from cpsched.study.tables import make_tables

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from cpsched.study.tables import Tables


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Source:
    """
    What a report is made of.

    Attributes
    ----------
    folder
        As it was named.
    runs
        The folder that holds the run folders.
    tables
        Of all of them.
    plan
        The experiment's plan as ``experiment.json`` has it, or None.
    failures
        What failed: the run's name and the error.
    """

    folder: Path
    runs: Path
    tables: Tables
    plan: Mapping[str, Any] | None
    failures: tuple[tuple[str, str], ...]


def open_source(folder: str | Path, baseline: str | None = None) -> Source:
    """
    Read what there is in a folder.

    Parameters
    ----------
    folder
        Made by ``cpsched compare``; or a run, or a folder of runs, made by ``cpsched simulate``.
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
        raise RunError(f"{folder} is no folder; name one made by cpsched compare or simulate")
    if (folder / "runs").is_dir() and not (folder / MARK).is_file():
        tables = make_tables(folder, baseline)
        return Source(
            folder=folder,
            runs=folder / "runs",
            tables=tables,
            plan=_plan(folder / DESCRIPTION),
            failures=_failures(folder / "failed", tables.results.missing),
        )
    find_runs(folder)
    alone = (folder / MARK).is_file()
    with _as_experiment(folder, alone=alone) as experiment:
        try:
            tables = make_tables(experiment, baseline)
        except RunError as error:
            inside = str(
                experiment / "runs" / folder.resolve().name if alone else experiment / "runs"
            )
            raise RunError(str(error).replace(inside, str(folder))) from error
    runs = folder.resolve().parent if alone else folder
    titled = replace(tables.results, title=folder.resolve().name)
    return Source(
        folder=folder,
        runs=runs,
        tables=replace(tables, results=titled),
        plan=None,
        failures=(),
    )


@contextmanager
def _as_experiment(folder: Path, *, alone: bool) -> Iterator[Path]:
    """Give a folder of the shape of an experiment's, whose runs are those of a folder."""
    with tempfile.TemporaryDirectory(prefix="cpsched-") as name:
        place = Path(name)
        runs = place / "runs"
        if alone:
            runs.mkdir()
            (runs / folder.resolve().name).symlink_to(folder.resolve())
        else:
            runs.symlink_to(folder.resolve())
        yield place


def _plan(path: Path) -> Mapping[str, Any] | None:
    if not path.is_file():
        return None
    plan = json.loads(path.read_text(encoding="utf-8")).get("plan")
    return plan if isinstance(plan, dict) else None


def _failures(folder: Path, missing: Collection[str]) -> tuple[tuple[str, str], ...]:
    """Return what failed of the missing; a file that cannot be read says that something has."""
    found = []
    # What failed for another plan in this folder is not missing here.
    for path in sorted(path for path in folder.glob("*.json") if path.stem in missing):
        try:
            error = str(json.loads(path.read_text(encoding="utf-8"))["error"])
        except (OSError, ValueError, LookupError, TypeError):
            error = f"see {path}"
        found.append((path.stem, error))
    return tuple(found)
