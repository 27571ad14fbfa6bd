"""Comparisons from Python: a study of one log, or finished runs, and their tables."""

from __future__ import annotations

import shutil
import tempfile
import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from html import escape
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cpsched import logs, systems
from cpsched.errors import ConfigError, RunError
from cpsched.model.system import System
from cpsched.model.workload import Workload
from cpsched.report.findings import conclusions
from cpsched.report.outcomes import load_lines, outcome_lines
from cpsched.report.record import validation_lines
from cpsched.report.results_table import load_results
from cpsched.report.terminal import results_text
from cpsched.simulation.run import Run
from cpsched.study.campaign import carry_out
from cpsched.study.folder import plain
from cpsched.study.inputs import prepare
from cpsched.study.policies import assumed_of, following
from cpsched.study.reader import SavedRun, load_run
from cpsched.study.results import collect
from cpsched.study.run_spec import run_specs
from cpsched.study.store import Store
from cpsched.study.study import Baseline, as_label
from cpsched.study.writer import save_run
from cpsched.util.atomic_files import replacing, subfolder
from cpsched.util.words import brief, counted

if TYPE_CHECKING:
    import pandas as pd

    from cpsched.report.results_table import ResultsTable
    from cpsched.simulation.settings import Settings
    from cpsched.study.study import Study

#: Where logs and systems given as objects are stored; a folder for each content.
_INPUTS = "inputs"
_DIGITS = 12
#: What a caller adds for repetitions.
_REPEAT = "compare(..., repeat=5)"
Log = str | PathLike[str] | Workload
Machine = str | PathLike[str] | System


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Comparison:
    """
    Results of finished runs, with differences from a baseline run.

    Attributes
    ----------
    folder
        Folder of the runs, which ``cpsched report`` and :func:`cpsched.load_results` read. Without
        ``out`` it is removed with this object.
    table
        Every metric of every run, and its difference from the baseline.
    """

    folder: Path
    table: ResultsTable

    @property
    def finding(self) -> str:
        """Summary of the results in sentences. Empty if there is only one run."""
        return "\n".join(conclusions(self.table, _REPEAT))

    @cached_property
    def runs(self) -> tuple[SavedRun, ...]:
        """
        The runs with their schedules, in the order of the tables, read at first use.

        Attribute ``label`` of a run is its name in tables. For a scenario these are its changes.
        """
        runs = self.table.study.runs
        return tuple(replace(load_run(run.path), label=run.dispatcher) for run in runs)

    def to_pandas(self) -> pd.DataFrame:
        """
        Return the results as a data frame, see :meth:`ResultsTable.to_pandas`.

        Raises
        ------
        ConfigError
            If pandas is not installed.
        """
        return self.table.to_pandas()

    def __repr__(self) -> str:
        runs = self.table.study.runs
        called = {"dispatcher": "scenario"} if self.table.study.by_group else {}
        sizes = [
            counted(len({getattr(run, key) for run in runs}), called.get(key, key))
            for key in ("workload", "system", "dispatcher", "predictor")
            if key == "dispatcher" or len({getattr(run, key) for run in runs}) > 1
        ]
        places = {f"{run.workload} on {run.system}" for run in runs}
        where = f" ({brief(places.pop())})" if len(places) == 1 else ""
        return f"<Comparison of {counted(len(runs), 'run')}: {', '.join(sizes)}{where}>"

    def _repr_html_(self) -> str:
        """Return the result summary and the main tables, for notebooks."""
        table, parts = self.table, [self.finding]
        for case in table.cases:
            lines = [*outcome_lines(table, case), *load_lines(table, case)]
            lines += validation_lines(table, case)
            parts.append("\n".join([case, "", results_text(table, case, 100), *lines]))
        text = "\n\n".join(filter(None, parts))
        return f'<pre style="white-space: pre-wrap">{escape(text)}</pre>'


def compare(
    log: Log,
    system: Machine | Sequence[Machine],
    *,
    dispatchers: str | Sequence[str] = ("easy",),
    predictors: str | Sequence[str] = ("requested",),
    allocator: str | None = None,
    baseline: str | None = None,
    baseline_system: str | None = None,
    repeat: int | Sequence[int] = 1,
    jitter: int | None = None,
    settings: Settings | None = None,
    out: str | PathLike[str] | None = None,
    jobs: int = 1,
) -> Comparison:
    """
    Simulate a log under several dispatchers and predictors, and compare the results.

    The study is that of ``cpsched compare LOG``, with the same runs and tables.

    Parameters
    ----------
    log
        The path of a job log, or a workload. For example ``read_log(path).select(first=500)``.
    system
        The system, as for :func:`~cpsched.simulation.simulate.simulate`, or several.
    dispatchers, predictors
        Specifications such as ``easy:backfill=sjf``. Each dispatcher is run with each predictor.
        Objects have no specification: simulate them, and pass the runs to :func:`compare_runs`.
    allocator
        Allocator of all dispatchers that do not set their own.
    baseline
        Baseline dispatcher. By default the first.
    baseline_system
        Baseline system. By default runs are compared within each system.
    repeat
        Number of repetitions, or their seeds. Seed 0 leaves the log as it is.
    jitter
        Largest delay of a submit with other seeds, in whole seconds. By default 5.
    settings
        Settings of every run. Their seed is ignored.
    out
        Folder of the study. Existing runs are kept, so an interrupted comparison continues. By
        default a temporary folder, removed with the result.
    jobs
        Number of worker processes.

    Raises
    ------
    ConfigError
        If a specification or setting is invalid, or a file cannot be read.
    TypeError
        If a log, system, dispatcher or predictor has another type.
    RunError
        If a run failed, after all others have ended, or the folder is not a study.
    """
    machines: Any = system if isinstance(system, list | tuple) else [system]
    given = {
        "dispatchers": _specifications(dispatchers, "dispatcher"),
        "predictors": _specifications(predictors, "predictor"),
        "allocator": allocator,
        "baseline": baseline,
        "baseline_system": baseline_system,
        "repeat": repeat,
        "jitter": jitter,
    }
    folder, passing = _folder(out)
    study = _study(log, machines, given, settings, folder, _parameter_of)
    return _carried_out(study, folder, jobs, passing=passing)


def what_if(
    log: Log,
    changes: str | Sequence[str],
    *,
    system: Machine,
    dispatcher: str | None = None,
    predictor: str = "requested",
    policy: str | PathLike[str] | None = None,
    measure_from: int | str | None = None,
    allocator: str | None = None,
    repeat: int | Sequence[int] = 1,
    jitter: int | None = None,
    settings: Settings | None = None,
    out: str | PathLike[str] | None = None,
    jobs: int = 1,
) -> Comparison:
    """
    Compare scenarios, which change a log or system, with a baseline.

    The study is that of ``cpsched what-if LOG``, with the same runs, tables and sentences.
    Parameters that are not listed are as for :func:`compare` and describe the baseline. The table
    has the groups of jobs that wait less and longer. It compares the waits of the baseline with the
    recorded ones.

    Parameters
    ----------
    changes
        A scenario each, as for ``--change``: ``"add-nodes group=gpu,count=8"``, ``"big:
        add-nodes group=gpu,count=8; scale-load 1.2"``.
    dispatcher, policy
        By default ``easy``, or with a Slurm policy file ``slurm`` under that policy. Warnings name
        the parts of the log that the policy does not cover.
    measure_from
        Compare only jobs submitted from then on, seconds of the log's clock or a date.

    Raises
    ------
    ConfigError, TypeError, RunError
        As :func:`compare`, and before any run if a change is impossible for the log.
    """
    from cpsched.study import scenarios

    if not changes:
        raise ConfigError("is empty. Give what is to be changed", key="changes")
    (own,) = _specifications([dispatcher or "easy"], "dispatcher")
    if policy is not None:
        own = following(Path(policy), dispatcher, ("policy", "dispatcher"))
    given = {
        "dispatchers": [own],
        "predictors": _specifications([predictor], "predictor"),
        "measure_from": measure_from,
        "allocator": allocator,
        "repeat": repeat,
        "jitter": jitter,
    }
    folder, passing = _folder(out)
    base = _study(log, [system], given, settings, folder, _only_parameter_of)
    texts = [changes] if isinstance(changes, str) else changes
    study = scenarios.what_if(base, scenarios.scenarios(base, texts), folder)
    for line in assumed_of(prepare(run_specs(study)[0].made_of), own):
        warnings.warn(line, stacklevel=2)
    return _carried_out(study, folder, jobs, passing=passing)


def _study(
    log: Log,
    machines: Sequence[Machine],
    given: Mapping[str, Any],
    settings: Settings | None,
    folder: Path,
    name_of: Callable[[str], str],
) -> Study:
    """Return the study of a log; a log and systems that are objects are written to its folder."""
    from cpsched.study.log_study import study_of_log

    # Before anything is written there: this refuses a folder that is not a study.
    Store(folder.absolute())
    own = asdict(settings) if settings else {}
    own.pop("seed", None)
    repeat = given["repeat"]
    own["repeat"] = repeat if isinstance(repeat, int) else list(repeat)
    of = {**given, **own, "systems": [_machine_file(machine, folder) for machine in machines]}
    return study_of_log(_log_file(log, folder), of, name_of)


def _parameter_of(key: str) -> str:
    """Return the parameter that gives a value, by its key in a study file."""
    names = {"systems": "system", "baseline.dispatcher": "baseline", "workloads": "log"}
    name = key.removeprefix("workloads.")
    return names.get(name) or name.replace("baseline.", "baseline_").replace("run.", "settings.")


def _only_parameter_of(key: str) -> str:
    """Return the parameter of a function that takes one dispatcher and one predictor."""
    names = {"dispatchers": "dispatcher", "predictors": "predictor"}
    return names.get(key) or _parameter_of(key)


def _carried_out(study: Study, folder: Path, jobs: int, *, passing: bool) -> Comparison:
    outcome = carry_out(study, folder, jobs=jobs)
    for reason in outcome.unknown:
        warnings.warn(f"{reason}. Its runs are made every time", stacklevel=3)
    if outcome.failed:
        first = outcome.failed[0]
        which = f"{len(outcome.failed)} of {outcome.runs} runs failed. The first, {first.name}"
        raise RunError(f"{which}: {first.error}")
    return _comparison(folder, passing=passing)


def compare_runs(
    runs: Sequence[Run] | Mapping[str, Run],
    *,
    baseline: str | None = None,
    out: str | PathLike[str] | None = None,
) -> Comparison:
    """
    Compare finished runs, such as those of a dispatcher or predictor of your own.

    Parameters
    ----------
    runs
        The runs, or a mapping of names to runs. Names replace those of the dispatchers. They are
        necessary if two runs have the same dispatcher and predictor.
    baseline
        Specification of the baseline's dispatcher, or the baseline's name in ``runs``. By default
        the first run is the baseline.
    out
        A new folder, to which the runs are written. By default a temporary one, removed with the
        result.

    Raises
    ------
    ConfigError
        If no run has the baseline's dispatcher.
    RunError
        If there is no run, two cannot be distinguished, or the folder is not empty.
    TypeError
        If an item is not a run.
    """
    named = runs.items() if isinstance(runs, Mapping) else [(None, run) for run in runs]
    folder, passing = _folder(out)
    for number, (name, run) in enumerate(named):
        if not isinstance(run, Run):
            raise TypeError(f"run {number} is a {type(run).__name__}, must be a result of simulate")
        label = as_label(run.dispatcher if name is None else name)
        seed = f"s{run.settings.seed}"
        slug = plain(f"{number:03} {label} {run.predictor} {seed}")
        save_run(run, folder / "runs" / slug, arguments={"dispatcher": label})
    if not len(named):
        raise RunError("there are no runs to compare")
    return _comparison(folder, baseline or _first(folder), passing=passing)


def _first(folder: Path) -> Baseline:
    """Return the first run as what others are compared with: its dispatcher and predictor."""
    runs = collect(folder).runs
    axes = ("dispatcher", "predictor")
    if len({(run.dispatcher, run.predictor) for run in runs}) == 1:
        axes = ("workload", "system")
    return Baseline(**{axis: getattr(runs[0], axis) for axis in axes})


def _comparison(
    folder: Path, baseline: str | Baseline | None = None, *, passing: bool
) -> Comparison:
    comparison = Comparison(folder=folder, table=load_results(folder, baseline))
    if passing:
        weakref.finalize(comparison, shutil.rmtree, folder, ignore_errors=True)
    return comparison


def _folder(out: str | PathLike[str] | None) -> tuple[Path, bool]:
    """Return the folder to work in, and whether it is temporary."""
    if out is not None:
        return Path(out), False
    return Path(tempfile.mkdtemp(prefix="cpsched-")), True


def _specifications(given: str | Sequence[str], what: str) -> list[str]:
    specifications = [given] if isinstance(given, str) else list(given)
    for spec in specifications:
        if not isinstance(spec, str):
            raise TypeError(
                f"the {what} {getattr(spec, 'name', spec)!r} is an object, must be text such as"
                " 'easy:backfill=sjf'. For objects, use simulate() and compare_runs()."
            )
    return specifications


def _log_file(log: object, folder: Path) -> Path:
    """Return the path of a log; a workload is written to the study's folder."""
    if isinstance(log, str | PathLike):
        return Path(log)
    if not isinstance(log, Workload):
        kind = type(log).__name__
        raise TypeError(f"the log is a {kind}, must be the path of a log or a Workload")
    path = _input(folder, log.digest(), log.title, "parquet")
    if not path.is_file():
        with replacing(path) as partial:
            logs.write(log, partial, format="table")
    return path


def _machine_file(system: object, folder: Path) -> str:
    """Return the name or the path of a system; an object is written to the study's folder."""
    if isinstance(system, str | PathLike):
        return str(system)
    if not isinstance(system, System):
        raise TypeError(
            f"the system is a {type(system).__name__}, must be a name, the path of a system file or"
            " a System"
        )
    path = _input(folder, system.digest(), system.name, "json")
    if not path.is_file():
        systems.save(system, path)
    return str(path)


def _input(folder: Path, digest: str, name: str, ending: str) -> Path:
    """Return the file of an object: its name, in a folder named after its content."""
    place = subfolder(folder.absolute(), _INPUTS, digest[:_DIGITS])
    return place / f"{plain(name) or 'unnamed'}.{ending}"
