"""Whether a bench is right: its runs, re-run, its tables, and whether its entries look ahead."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from cpsched.checks.look_ahead import look_ahead
from cpsched.cli.bench_scores import files_of, scored
from cpsched.cli.verify_run import checked_run
from cpsched.errors import RunError
from cpsched.study.bench.bench import INPUTS, about, reopened, runs_of
from cpsched.util.documents import read_json, read_text
from cpsched.util.versions import versions
from cpsched.util.words import escaped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cpsched.study.bench.bench import Bench
    from cpsched.study.bench.entry import BenchEntry
    from cpsched.study.bench.log_windows import LogWindow

#: Files of the look-ahead test: jobs before the window, and what an entry learns from them.
_BEFORE, _MODEL = "before.parquet", "model"
#: What two equal runs have alike, byte for byte.
_SAME = ("jobs.parquet", "allocations.parquet")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recount:
    """
    The findings of a check.

    Attributes
    ----------
    wrong
        What is wrong, a sentence each.
    notes
        What differs without being wrong.
    schedules, runs, windows
        How many were checked, made again, and tested for look-ahead.
    """

    wrong: tuple[str, ...]
    notes: tuple[str, ...]
    schedules: int
    runs: int
    windows: int


def recount(
    folder: Path,
    *,
    seeds: int | None = None,
    jobs: int = 1,
    watch: Callable[[str, int, int], None] = lambda *_: None,
) -> Recount:
    """
    Check a bench.

    Parameters
    ----------
    seeds
        Make only the runs of so many seeds again; None: all.
    watch
        Called with what is done, how many of it, and of how many.

    Raises
    ------
    RunError
        If the folder is not a bench, or a run fails.
    """
    bench = reopened(folder)
    wrong = [*_windows(folder, bench)]
    paths = [path for of in _paths(folder).values() for path in of.values()]
    for done, path in enumerate(paths):
        watch("schedules", done, len(paths))
        wrong += [f"{path.name}: {line}" for line in checked_run(path)["findings"]]
    again = 0
    if not wrong:
        with tempfile.TemporaryDirectory(prefix="cpsched-bench-") as made:
            again, differing = _made_again(folder, Path(made), bench, seeds, jobs, watch)
            wrong += differing
        wrong += _tables(folder)
    tested = 0
    for entry in bench.submissions:
        for window in bench.windows:
            watch("windows tested", tested, len(bench.submissions) * len(bench.windows))
            where = f"{entry.name} looks ahead on {window.log.name}"
            wrong += [f"{where}: {difference}" for difference in _differences(entry, window)]
            tested += 1
    return Recount(
        wrong=tuple(wrong),
        notes=tuple(_other_versions(folder)),
        schedules=len(paths),
        runs=again,
        windows=tested,
    )


def _differences(entry: BenchEntry, window: LogWindow) -> list[str]:
    """Return how the starts of an entry in a window depend on the future."""

    def specs(folder: Path) -> tuple[str, str]:
        before = folder / _BEFORE
        if window.before is not None:
            shutil.copyfile(window.before, before)
        trained = entry.trained(folder, None if window.before is None else before, _MODEL)
        return trained.dispatcher or "easy-wsept", trained.predictor or "requested"

    code = () if entry.code is None else (entry.code,)
    with tempfile.TemporaryDirectory(prefix="cpsched-look-ahead-") as made:
        try:
            return look_ahead(window.path, window.log.system, specs, Path(made) / "runs", code=code)
        except RunError as error:
            raise RunError(f"{entry.name} on {window.log.name}: {error}") from error


def _other_versions(folder: Path) -> Iterator[str]:
    """Yield which versions differ from those that the bench was run with."""
    here = versions()
    for name, version in about(folder)["versions"].items():
        if here.get(name) != version:
            yield f"{name} is {here.get(name, 'missing')}, the bench was run with {version}"


def _paths(folder: Path) -> dict[str, dict[tuple[str, ...], Path]]:
    """
    Return the runs of each track by log, dispatcher, predictor and seed.

    What else lies there, as the runs of an entry whose code was another, is not the bench's.
    """
    return {name: {_labels(run.path): run.path for run in of} for name, of in runs_of(folder)}


def _labels(run: Path) -> tuple[str, ...]:
    said = read_json(read_text(run / "run.json"))["arguments"]
    return tuple(str(said[name]) for name in ("workload", "dispatcher", "predictor", "seed"))


def _windows(folder: Path, bench: Bench) -> Iterator[str]:
    """Yield which windows are not those that the bench says it was run on."""
    from hashlib import sha256

    said = {one["name"]: one["window_sha256"] for one in about(folder)["logs"]}
    for window in bench.windows:
        if sha256(window.path.read_bytes()).hexdigest() != said[window.log.name]:
            yield f"{window.path.name}: is not the window that the bench was run on"


def _made_again(
    folder: Path,
    target: Path,
    bench: Bench,
    seeds: int | None,
    jobs: int,
    watch: Callable[[str, int, int], None],
) -> tuple[int, list[str]]:
    """Return how many runs were made again from the windows, and which came out differently."""
    shutil.copytree(folder / INPUTS, target / INPUTS)
    logset = bench.logset
    fewer = replace(logset, seeds=min(seeds or logset.seeds, logset.seeds))
    windows = [
        replace(one, path=target / INPUTS / one.path.name,
                before=one.before and target / INPUTS / one.before.name)
        for one in bench.windows
    ]  # fmt: skip
    made = replace(bench, logset=fewer, windows=tuple(windows))
    watch("runs made again", 0, len(bench.tracks))
    number, wrong = 0, made.carry_out(target, jobs=jobs)
    there = _paths(folder)
    for track, of in _paths(target).items():
        for labels, run in of.items():
            number += 1
            old, what = there.get(track, {}).get(labels), f"{track}: {' / '.join(labels)}"
            if old is None:
                wrong.append(f"{what} is missing in the bench")
            elif any((old / name).read_bytes() != (run / name).read_bytes() for name in _SAME):
                wrong.append(f"{what} made again is another schedule")
    return number, wrong


def _tables(folder: Path) -> Iterator[str]:
    """Yield which tables are not what the runs say."""
    for name, content in files_of(scored(folder)).items():
        path = folder / name
        if not path.is_file() or path.read_bytes() != content:
            yield f"{escaped(name)}: is not what the runs say"
