"""The check of a bench: its windows, schedules and tables, and its runs repeated."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from cpsched.cli.bench_scores import files_of, scored
from cpsched.cli.verify_run import checked_run
from cpsched.errors import RunError
from cpsched.simulation.identity import file_digest
from cpsched.study.bench.bench import INPUTS, TRACKS, about, reopened, runs_of
from cpsched.study.bench.log_windows import LogWindow
from cpsched.study.folder import MARK
from cpsched.study.results import collect
from cpsched.study.run_spec import run_specs
from cpsched.util.versions import versions
from cpsched.util.words import escaped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cpsched.study.bench.bench import Bench

#: Files that are the same in two equal runs, byte for byte.
_SAME = ("jobs.parquet", "allocations.parquet")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recount:
    """
    The findings of a check.

    Attributes
    ----------
    wrong
        A sentence for each fault.
    notes
        A sentence for each version that differs.
    schedules, runs
        Numbers of schedules that were checked, and of runs that were repeated.
    """

    wrong: tuple[str, ...]
    notes: tuple[str, ...]
    schedules: int
    runs: int


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
        Number of repetitions to re-run. None: all.
    watch
        Called with the name of a step, the number that is done, and the number of all.

    Raises
    ------
    RunError
        If the folder is not a bench, or a run fails.
    """
    bench = reopened(folder)
    _check_finished(folder, bench)
    wrong = [*_windows(folder, bench)]
    paths = [path for runs in _paths(folder).values() for path in runs.values()]
    for done, path in enumerate(paths):
        watch("schedules", done, len(paths))
        wrong += [f"{path.name}: {line}" for line in checked_run(path)["findings"]]
    again = 0
    if not wrong:
        with tempfile.TemporaryDirectory(prefix="cpsched-bench-") as target:
            again, differing = _made_again(folder, Path(target), bench, seeds, jobs, watch)
            wrong += differing
        wrong += _tables(folder)
    return Recount(
        wrong=tuple(wrong),
        notes=tuple(_other_versions(folder)),
        schedules=len(paths),
        runs=again,
    )


def _check_finished(folder: Path, bench: Bench) -> None:
    """Refuse a bench of which runs are still to be made: its tables say nothing yet."""
    there = dict(_runs_there(folder))
    studies = {track.name: bench.study(track, folder) for track in bench.tracks}
    wanted = {name: len(run_specs(study)) for name, study in studies.items() if study is not None}
    done = sum(min(there.get(name, 0), number) for name, number in wanted.items())
    if done < (total := sum(wanted.values())):
        raise RunError(
            f"{folder}: unfinished, {done:,} of {total:,} runs. Repeat the cpsched bench command"
            " first."
        )


def _runs_there(folder: Path) -> Iterator[tuple[str, int]]:
    """Yield the number of finished runs of each track that was begun."""
    for name in about(folder)["tracks"]:
        path = folder / TRACKS / name
        if any(path.glob(f"runs/*/{MARK}")):
            yield name, len(collect(path).runs)


def _other_versions(folder: Path) -> Iterator[str]:
    """Yield a sentence for each version that differs from the one of ``bench.json``."""
    installed = versions()
    for name, version in about(folder)["versions"].items():
        if installed.get(name) != version:
            yield f"{name} is {installed.get(name, 'missing')}, the bench was run with {version}"


def _paths(folder: Path) -> dict[str, dict[tuple[str, ...], Path]]:
    """
    Return the folders of the runs of each track by log, dispatcher, predictor and seed.

    Runs of earlier code of an entry lie in the same folder and are left out.
    """
    return {
        track: {(run.workload, *run.configuration, str(run.seed)): run.path for run in runs}
        for track, runs in runs_of(folder)
    }


def _windows(folder: Path, bench: Bench) -> Iterator[str]:
    """Yield a sentence for each window that differs from the one of ``bench.json``."""
    digests = {log["name"]: log["window_sha256"] for log in about(folder)["logs"]}
    for window in bench.windows:
        if file_digest(window.path) != digests[window.log.name]:
            yield f"{window.path.name}: is not the log that the benchmark ran on"


def _made_again(
    folder: Path,
    target: Path,
    bench: Bench,
    seeds: int | None,
    jobs: int,
    watch: Callable[[str, int, int], None],
) -> tuple[int, list[str]]:
    """Return the number of runs made again, and a sentence for each that differs."""
    shutil.copytree(folder / INPUTS, target / INPUTS)
    logset = bench.logset
    fewer = logset.model_copy(update={"seeds": min(seeds or logset.seeds, logset.seeds)})
    windows = tuple(LogWindow.of(window.log, target / INPUTS) for window in bench.windows)
    copied = replace(bench, logset=fewer, windows=windows)
    watch("re-running", 0, len(bench.tracks))
    number, wrong = 0, copied.carry_out(target, jobs=jobs)
    in_bench = _paths(folder)
    for track, runs in _paths(target).items():
        for labels, run in runs.items():
            number += 1
            old, place = in_bench.get(track, {}).get(labels), f"{track}: {' / '.join(labels)}"
            if old is None:
                wrong.append(f"{place}: the run is missing")
            elif any((old / name).read_bytes() != (run / name).read_bytes() for name in _SAME):
                wrong.append(f"{place}: the re-run has another schedule")
    return number, wrong


def _tables(folder: Path) -> Iterator[str]:
    """Yield a sentence for each table that differs from the runs."""
    for name, content in files_of(scored(folder)).items():
        path = folder / name
        if not path.is_file() or path.read_bytes() != content:
            yield f"{escaped(name)}: differs from the recomputed table"
