"""``cpsched tune``: better settings, searched on early jobs and checked on later ones."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cpsched.cli.heading import say, width
from cpsched.cli.log_study import study_of_log
from cpsched.cli.options import (
    COMPARISON,
    OUTPUT,
    AsJson,
    Executor,
    SiteRuns,
    Workers,
    WorkloadFile,
    default_folder,
    grouped,
    option,
)
from cpsched.cli.output import echo, print_json
from cpsched.cli.progress import steps
from cpsched.util.interruption import note_kept_runs

if TYPE_CHECKING:
    from cpsched.tuning.settings import Space
    from cpsched.tuning.site import Site
    from cpsched.tuning.tune import Tuned

#: The file of the one-page summary, and that of all results.
PAGE, RESULTS = "tune.md", "tune.json"


@grouped
def command(
    log: WorkloadFile,
    allow: Annotated[
        list[str] | None,
        option(COMPARISON, help="Search only these settings, such as 'bf_*' (repeatable).",
               metavar="PATTERN"),
    ] = None,
    forbid: Annotated[
        list[str] | None,
        option(COMPARISON, help="Leave these settings out (repeatable).", metavar="PATTERN"),
    ] = None,
    space: Annotated[
        Path | None,
        option(COMPARISON, help="Search only the settings of this TOML file.", metavar="FILE"),
    ] = None,
    list_settings: Annotated[
        bool, option(COMPARISON, "--list-settings", help="List the settings and their values.")
    ] = False,
    trials: Annotated[
        int,
        option(COMPARISON, help="Combinations to try, besides 20 random ones.", min=1,
               metavar="N"),
    ] = 200,
    sampler: Annotated[
        Literal["local", "tpe", "nsga2", "random"],
        option(COMPARISON, help="What proposes combinations: changes of the best and of the current"
               " settings (local), these and Optuna (tpe, nsga2), or chance alone (random)."),
    ] = "local",
    seed: Annotated[
        int, option(COMPARISON, help="Seed of the search.", min=0, metavar="N")
    ] = 1,
    repeat: Annotated[
        int,
        option(COMPARISON, help="Repetitions on the validation part and on later jobs.", min=2,
               metavar="N"),
    ] = 5,
    wait_factor: Annotated[
        float,
        option(COMPARISON, help="Largest ratio of the p99.9 wait and of mean waits of groups.",
               metavar="FACTOR"),
    ] = 1.1,
    longest_factor: Annotated[
        float, option(COMPARISON, help="Largest ratio of the longest wait.", metavar="FACTOR")
    ] = 1.2,
    out: Annotated[
        Path | None, option(OUTPUT, "--out", "-o", help="Folder. [LOG-tune]", metavar="DIR")
    ] = None,
    workers: Workers = 1,
    executor: Executor = None,
    as_json: AsJson = False,
    *,
    runs: SiteRuns,
) -> None:  # fmt: skip
    """
    Search for better settings, and check them on later jobs.

    Settings are searched on the first half of the log, chosen on the next fifth, and reported on
    the rest, which decides nothing. A combination is infeasible if it makes a group of jobs, the
    p99.9 wait or the longest wait much worse. Repeat the command to continue an interrupted search.
    """
    from cpsched.tuning.measure import Limits
    from cpsched.tuning.site import Site
    from cpsched.tuning.tune import tune

    site = Site(study_of_log(log, runs, once=("systems", "dispatchers", "predictors")))
    wanted = site.searched(allow or (), forbid or (), space)
    if list_settings:
        _list(site.space, wanted)
        return
    folder = out or default_folder(log, "tune")
    limits = Limits(wait=wait_factor, longest=longest_factor)
    note_kept_runs()
    with steps() as progress:
        tuned = tune(
            site,
            wanted,
            folder,
            trials=trials,
            sampler=sampler,
            seed=seed,
            repeat=repeat,
            limits=limits,
            workers=workers,
            executor=executor,
            progress=progress,
        )
    _write(tuned, site, folder)
    if as_json:
        print_json("tune", tuned.as_data(), version=1)
    else:
        _show(tuned, site, folder)


def _list(whole: Space, wanted: Space) -> None:
    """Print all settings with their values, and whether they are searched."""
    from cpsched.util.terminal import table_text

    rows = [
        [item.key, ", ".join(value or "none" for value in item.values), item.current or "none",
         str(item.cost), "yes" if key in wanted.settings else "no"]
        for key, item in {**whole.settings, **wanted.settings}.items()
    ]  # fmt: skip
    headers = ["setting", "values", "now", "cost", "searched"]
    echo(table_text(headers, rows, width=width(), names=len(headers), unbroken=1))
    echo(f"\n{wanted.size:,} combinations are possible. Costs: reconfigure (users need not react),")
    echo("users (they meet other limits or tiers), scripts (jobs are killed at other times).")


def _write(tuned: Tuned, site: Site, folder: Path) -> None:
    """Write the one-page summary and all results."""
    from cpsched.tuning.text import page
    from cpsched.util.atomic_files import write_all
    from cpsched.util.documents import json_text

    write_all(
        folder,
        {
            PAGE: page(tuned, site).encode(),
            RESULTS: (json_text(tuned.as_data(), indent=1) + "\n").encode(),
        },
    )


def _show(tuned: Tuned, site: Site, folder: Path) -> None:
    from cpsched.tuning.text import answer_lines, search_lines, tables

    for line in search_lines(tuned):
        say(line)
    echo("")
    for line in answer_lines(tuned):
        say(line)
    for title, text in tables(tuned, site, width()):
        echo(f"\n{title}:\n\n{text}")
    echo(f"\nSummary: {folder / PAGE}")
    if tuned.table is not None:
        echo(f"Later jobs: cpsched report {shlex.quote(str(folder / 'test'))}")
