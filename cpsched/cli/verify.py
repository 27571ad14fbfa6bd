"""``cpsched verify``: the check of runs, studies and benchmark folders."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cpsched.cli.options import AsJson, Workers
from cpsched.cli.output import counted, echo, escaped, print_json
from cpsched.cli.progress import steps, working
from cpsched.cli.verify_run import FILES, checked_run
from cpsched.errors import RunError, VerificationError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cpsched.cli.verify_bench import Recount


def command(
    folder: Annotated[
        list[Path],
        typer.Argument(metavar="DIR...", help="Folders of runs, studies or benchmarks."),
    ],
    repeat: Annotated[
        int | None,
        typer.Option(help="Benchmark repetitions to re-run. [all]", min=1, metavar="N"),
    ] = None,
    workers: Workers = 1,
    as_json: AsJson = False,
) -> None:
    """
    Verify recorded schedules: every job, the capacity of every node, and every rule.

    Benchmark runs are also re-run from the logs in their folder and compared byte for byte, and
    the tables are recomputed.
    """
    from cpsched.study.bench.bench import MARK

    benches = [path for path in folder if (path / MARK).is_file()]
    others = [path for path in folder if path not in benches]
    runs = _checked_runs(others)
    recounts = {path: _recounted(path, repeat, workers) for path in benches}
    wrong = [run["findings"] for run in runs if run["findings"]]
    faulty = {path: recount for path, recount in recounts.items() if recount.wrong}
    if as_json:
        checked = [{"folder": str(path), **asdict(recount)} for path, recount in recounts.items()]
        print_json("verify", {"wrong": len(wrong) + len(faulty), "runs": runs, "benches": checked})
    else:
        _print_runs(runs)
        for path, recount in recounts.items():
            _print_bench(path, recount)
    if wrong:
        raise VerificationError(summary_of(wrong))
    for path, recount in faulty.items():
        raise VerificationError(f"{path}: {counted(len(recount.wrong), 'problem')}")


def _checked_runs(folders: Sequence[Path]) -> list[dict[str, Any]]:
    """Return what is wrong with each run in folders."""
    from cpsched.study.folder import find_runs, unmarked_runs

    checked: list[dict[str, Any]] = []
    unmarked = [run for folder in folders for run in unmarked_runs(folder)]
    paths = [run for folder in folders for run in _runs_in(find_runs, folder, unmarked)]
    paths += unmarked
    if paths:
        with working("checking") as show_progress:
            for done, path in enumerate(paths):
                show_progress(done, len(paths))
                checked.append(checked_run(path))
    return checked


def _recounted(folder: Path, repeat: int | None, workers: int) -> Recount:
    """Return what a check of a bench finds."""
    from cpsched.cli.verify_bench import recount

    with steps() as watch:
        return recount(folder.absolute(), seeds=repeat, jobs=workers, watch=watch)


def _print_runs(runs: Sequence[dict[str, Any]]) -> None:
    for run in runs:
        number = len(run["findings"])
        result = counted(number, "problem") if number else "OK"
        line = f"{escaped(run['folder'])}: {counted(run['jobs'], 'job')}, {result}"
        echo("\n  ".join([line, *run["findings"]]))


def _print_bench(folder: Path, recount: Recount) -> None:
    for note in recount.notes:
        echo(f"note: {escaped(note)}")
    for line in recount.wrong:
        echo(escaped(line))
    result = counted(len(recount.wrong), "problem") if recount.wrong else "OK"
    echo(
        f"{escaped(str(folder))}: {counted(recount.schedules, 'schedule')} checked,"
        f" {counted(recount.runs, 'run')} re-run, {result}"
    )


def _runs_in(
    find_runs: Callable[[Path], list[Path]], folder: Path, unmarked: Sequence[Path]
) -> list[Path]:
    """Return the runs in a folder; none where all that are there lack their mark."""
    try:
        return find_runs(folder)
    except RunError:
        if any(path.is_relative_to(folder) for path in unmarked):
            return []
        raise


def summary_of(wrong: Sequence[Sequence[str]]) -> str:
    """Return one line on the findings of runs: schedules that break rules, and wrong files."""
    schedules = sum(
        any(not finding.startswith(FILES) for finding in findings) for findings in wrong
    )
    of_files = [
        [finding.removeprefix(FILES).partition(" ")[0].rstrip(":") for finding in findings]
        for findings in wrong
        if all(finding.startswith(FILES) for finding in findings)
    ]
    parts = []
    if schedules:
        parts.append(
            f"the {'schedule' if schedules == 1 else 'schedules'} of"
            f" {counted(schedules, 'run')} failed the verification"
        )
    if of_files:
        names = dict.fromkeys(
            name for names in of_files for name in names if name.endswith((".json", ".parquet"))
        )
        parts.append(
            f"files of {counted(len(of_files), 'run')} are missing or were modified"
            f"{': ' * bool(names)}{', '.join(names)}"
        )
    return ", and ".join(parts)
