"""The finished runs of a folder: the metrics of each, and sums over its jobs by day."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from cpsched.errors import RunError
from cpsched.metrics import jobs as job_metrics
from cpsched.metrics.definitions import ALL, LENGTHS, read
from cpsched.metrics.predictions import knows_runtimes
from cpsched.metrics.summary import of_jobs_from
from cpsched.study.folder import MARK, faults, find_runs
from cpsched.study.inputs import second_of
from cpsched.study.paired import DAY, Sums
from cpsched.study.reader import load_run
from cpsched.study.store import DESCRIPTION, FORMAT
from cpsched.study.study import Baseline, as_label
from cpsched.study.writer import FORMAT as RUN_FORMAT
from cpsched.util.arrow import (
    UNREADABLE,
    check_within,
    integers,
    plain,
    read_batches,
    release_unused,
)
from cpsched.util.spec import display_name
from cpsched.util.types import MAX_TIME

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from cpsched.metrics.definitions import Group, Value
    from cpsched.util.types import AnyArray, IntArray

_integers = partial(integers, none=-1)
#: Labels of a run's place in a study.
LABELS = ("workload", "system", "dispatcher", "predictor")
#: Of ``jobs.parquet``.
_TIMES = ("submit", "wait", "end", "nominal_runtime", "cores")
#: Which run a row or a result is of: its labels.
RunKey = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RunResult:
    """
    A finished run, as far as tables need it.

    Attributes
    ----------
    path
        Of its folder.
    workload, system, dispatcher, predictor
        Labels.
    dispatcher_spec
        Specification of the dispatcher.
    allocator
        The dispatcher's allocator; None if it places jobs itself, or it is not recorded.
    knows_runtimes
        Whether the predictor knows the actual runtimes, or has seen them.
    not_a_forecast
        What the predictor has seen of the jobs that it predicts; None for nothing.
    metrics
        Values by group of jobs and metric (:mod:`cpsched.metrics.definitions`).
    days
        Sums by day, by group of jobs and metric that is a mean over jobs.
    timing
        Seconds; they differ between equal runs.
    decisions
        What its dispatcher counts, see :attr:`~cpsched.simulation.simulate.Run.decisions`.
    outcomes
        What became of jobs and rows, see :func:`cpsched.metrics.outcomes.outcomes`.
    record
        What the log itself says of the jobs: ``recorded_wait_s`` and ``recorded_use`` of the
        summary; empty if the study ignores it.
    changes
        What a scenario changes of log and machine, as specifications.
    """

    path: Path
    workload: str
    system: str
    dispatcher: str
    predictor: str
    seed: int
    metrics: Mapping[Group, Mapping[str, Value]]
    days: Mapping[tuple[Group, str], Sums]
    timing: Mapping[str, float]
    dispatcher_spec: str
    allocator: str | None
    knows_runtimes: bool = False
    not_a_forecast: str | None = None
    decisions: Mapping[str, float] = field(default_factory=dict)
    outcomes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    record: Mapping[str, Any] = field(default_factory=dict)
    changes: tuple[str, ...] = ()

    @property
    def labels(self) -> dict[str, str]:
        """Workload, system, dispatcher and predictor."""
        return {label: getattr(self, label) for label in LABELS}

    @property
    def key(self) -> RunKey:
        """The same, to find its repetitions by."""
        return self.workload, self.system, self.dispatcher, self.predictor

    @property
    def configuration(self) -> tuple[str, str]:
        """Dispatcher and predictor."""
        return self.dispatcher, self.predictor

    @property
    def case(self) -> str:
        """``workload on system``."""
        return case_of(self.labels)

    @property
    def values(self) -> Mapping[str, Value]:
        """The metrics of all jobs, by name."""
        return self.metrics[ALL]

    @property
    def folder(self) -> str:
        """Name of its folder."""
        return self.path.resolve().name


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Results:
    """
    The finished runs of a study, in its order.

    Attributes
    ----------
    missing
        Folders of missing runs.
    by_group
        Whether it asks which groups gain or lose.
    measure_from
        Metrics of jobs and comparisons are of the jobs submitted from then on.
    """

    title: str
    question: str
    baseline: Baseline
    runs: tuple[RunResult, ...]
    missing: tuple[str, ...]
    by_group: bool = False
    measure_from: int | str | None = None


def other_runs(folder: str | Path) -> list[Path]:
    """Return the run folders in a study's folder that are not of the study, sorted by name."""
    folder = Path(folder)
    about = _description(folder)
    if not about:
        return []
    own = {run["folder"] for run in about["runs"]}
    runs = sorted(mark.parent for mark in folder.glob(f"runs/*/{MARK}"))
    return [run for run in runs if run.name not in own and not run.name.startswith(".")]


def collect(folder: str | Path) -> Results:
    """
    Read the runs of a study's folder, of a folder of runs, or one run.

    Without the file that describes the study, all runs there are read, in the order of their names,
    and the first dispatcher is the baseline.

    Raises
    ------
    RunError
        If there is no run, one is damaged, or two are not repetitions of each other and have the
        same names.
    """
    folder = Path(folder)
    about = _description(folder)
    paths = [] if about else find_runs(folder)
    described = about["runs"] if about else _undescribed(paths)
    paths = paths or [folder / "runs" / run["folder"] for run in described]
    _check_distinct(described)
    pairs = zip(paths, described, strict=True)
    here = [(path, run) for path, run in pairs if (path / MARK).is_file()]
    if not here:
        raise RunError(f"{folder} holds no finished run of a study")
    finished = {run["folder"] for _, run in here}
    start = about.get("measure_from")
    runs = tuple(_read(path, run, start) for path, run in here)
    if about.get("ignore_recorded_waits"):
        runs = tuple(replace(run, record={}) for run in runs)
    baseline = about.get("baseline") or {"dispatcher": runs[0].dispatcher}
    return Results(
        title=str(about.get("title") or folder.resolve().name),
        question=str(about.get("question") or ""),
        baseline=Baseline(**baseline),
        runs=runs,
        missing=tuple(of["folder"] for of in described if of["folder"] not in finished),
        by_group=bool(about.get("by_group")),
        measure_from=start,
    )


def case_of(row: Mapping[str, Any]) -> str:
    """Return of which workload on which system a row is: ``workload on system``."""
    return f"{row['workload']} on {row['system']}"


def run_of(row: Mapping[str, Any]) -> RunKey:
    """Return which run a row is of."""
    workload, system, dispatcher, predictor = (str(row[label]) for label in LABELS)
    return workload, system, dispatcher, predictor


def mean(values: Iterable[Value]) -> float | None:
    """Return the mean of what was measured, None if nothing was; the sum is exact."""
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None


def _check_distinct(described: Iterable[Mapping[str, Any]]) -> None:
    """Refuse two runs of the same names and seed: they would be averaged."""
    by_names: dict[tuple[Any, ...], str] = {}
    for run in described:
        names = tuple(run[name] for name in LABELS)
        twin = by_names.setdefault((*names, run["seed"]), run["folder"])
        if twin != run["folder"]:
            raise RunError(_twins(twin, run["folder"], names))


def _twins(first: str, other: str, names: Iterable[str]) -> str:
    return (
        f"{first} and {other} are both {' / '.join(names)}, but they are not repetitions of each"
        " other. Move one away"
    )


def _description(folder: Path) -> dict[str, Any]:
    """Return a study's description, empty if it has none."""
    path = folder / DESCRIPTION
    if not path.is_file():
        return {}
    about = _json(path)
    if about.get("format") != FORMAT:
        raise RunError(
            f"{path}: format is {about.get('format')!r}, this cpsched reads {FORMAT}. Run the study"
            " again in a new folder"
        )
    try:
        for run in about["runs"]:
            Path(run["folder"], *(run[name] for name in LABELS))
            int(run["seed"])
        Baseline(**about["baseline"])
    except (LookupError, TypeError, ValueError) as error:
        raise RunError(f"{path} is damaged ({error}). Run the study again") from error
    return about


def _undescribed(runs: Iterable[Path]) -> list[dict[str, Any]]:
    """Return the places of runs according to their own files."""
    described: list[dict[str, Any]] = []
    first: dict[tuple[Any, ...], tuple[str, Any]] = {}
    for run in runs:
        description, made_of = _described(run / MARK)
        names = tuple(description[name] for name in LABELS)
        twin, other = first.setdefault(names, (description["folder"], made_of))
        if made_of != other:
            raise RunError(_twins(twin, description["folder"], names))
        described.append(description)
    return described


def _described(mark: Path) -> tuple[dict[str, Any], Any]:
    """
    Return the place of a run according to its own files, and what its repetitions have in common.
    """
    about = _json(mark)
    try:
        arguments = dict(about.get("arguments") or {})
        settings = dict(about["settings"])
        names = {
            "workload": about["workload"]["title"],
            "system": about["system"]["name"],
            "dispatcher": display_name("dispatchers", about["dispatcher"]),
            "predictor": about["predictor"],
            **{name: arguments[name] for name in LABELS if name in arguments},
        }
        labels = {name: as_label(str(text)) for name, text in names.items()}
        seed = int(settings.pop("seed"))
    except (LookupError, TypeError, ValueError) as error:
        raise RunError(_damaged(mark.parent, error)) from error
    source = dict(arguments.get("source") or {})
    source.pop("path", None)
    if "generator" in source:
        # Each seed may have its own workload.
        source["options"] = {k: v for k, v in source["options"].items() if k != "seed"}
    # Not the jitter: with seed 0 there is none.
    part = {name: arguments.get(name) for name in ("first", "from", "to")}
    # Jobs of repetitions are jittered, or made by other seeds; runs outside campaigns have none.
    digest = None if source else about["workload"].get("digest")
    common = (settings, part, source, digest, about["system"].get("digest"))
    return {"folder": mark.parent.resolve().name, **labels, "seed": seed}, common


def _read(run: Path, description: Mapping[str, Any], start: int | str | None) -> RunResult:
    """Return a finished run, with metrics of the jobs submitted from ``start`` on."""
    about = _json(run / MARK)
    if (version := about.get("format")) != RUN_FORMAT:
        raise RunError(
            f"{run / MARK}: format is {version!r}, this cpsched reads {RUN_FORMAT}. Run the study"
            " again in a new folder"
        )
    for name, what in faults(run, ("jobs.parquet", "metrics.json")):
        raise RunError(f"{run / name} {what}. Delete the folder and run the study again")
    try:
        summary = _json(run / "metrics.json")
        since = None
        if start is not None:
            schedule = load_run(run).schedule
            since = second_of(schedule.workload, "measure_from", start)
            summary |= of_jobs_from(schedule, since or 0)
        return RunResult(
            path=run,
            dispatcher_spec=str(about["dispatcher"]),
            allocator=about["allocator"],
            knows_runtimes=knows_runtimes(about),
            not_a_forecast=about.get("not_a_forecast"),
            **{label: str(description[label]) for label in LABELS},
            seed=int(description["seed"]),
            metrics=read(summary),
            days=_days(run, summary["steady_window_s"], since or 0),
            timing=_json(run / "timing.json"),
            decisions=dict(about["decisions"]),
            outcomes=dict(summary["outcomes"]),
            record={name: summary[name] for name in ("recorded_wait_s", "recorded_use")},
            changes=tuple((about.get("arguments") or {}).get("changes") or ()),
        )
    except UNREADABLE as error:
        raise RunError(_damaged(run, error)) from error


def _damaged(run: Path, error: Exception) -> str:
    reason = str(error).partition("\n")[0]
    return f"{run} is damaged ({reason}). Delete the folder and run the study again"


def _days(run: Path, steady: Sequence[int] | None, since: int) -> dict[tuple[Group, str], Sums]:
    """
    Return each measure of the jobs that ended, added up by day, for each group of jobs.

    Days begin with the first submit at ``since`` or later.
    """
    days: dict[tuple[Group, str], Sums] = {}
    first = None
    for table in read_batches(
        run / "jobs.parquet", ["outcome", *_TIMES], read_dictionary=["outcome"]
    ):
        columns = {name: _integers(table, name) for name in _TIMES}
        done = _ended(table)
        done = done[columns["submit"][done] >= since]
        del table
        release_unused()
        for name, column in columns.items():
            check_within(name, column, -1, MAX_TIME)
        submit = columns["submit"]
        if first is None:
            first = int(submit.min(initial=MAX_TIME))
        check_within("submit", submit, first, MAX_TIME)
        origin = max(first, since)
        num_days = max(int(submit.max(initial=first - 1)) - origin, -1) // DAY + 1
        del submit, column
        # One column after the other: all of them twice would fill the memory.
        ended = {name: columns.pop(name)[done] for name in _TIMES}
        for key, sums in _of_days(ended, origin, num_days, steady):
            days[key] = days[key] + sums if key in days else sums
    return days


def _of_days(
    columns: Mapping[str, IntArray], first: int, num_days: int, steady: Sequence[int] | None
) -> Iterator[tuple[tuple[Group, str], Sums]]:
    """Yield the same of some jobs that ended; days begin with the first submit."""
    submit, wait, end, runtime, width = (columns[name] for name in _TIMES)
    day = (submit - first) // DAY
    response = job_metrics.turnaround(submit, end)
    measures: dict[str, Callable[[], AnyArray]] = {
        "wait_mean_s": lambda: wait,
        "slowdown_mean": lambda: job_metrics.slowdown(response, runtime),
        "bounded_slowdown_mean": lambda: job_metrics.bounded_slowdown(response, runtime),
    }
    length = job_metrics.job_class(runtime)
    groups: dict[Group, Any] = {ALL: slice(None)}
    groups |= {LENGTHS[item.name.lower()]: length == item for item in job_metrics.JobClass}
    if steady is not None:
        groups[LENGTHS[job_metrics.STEADY]] = (submit >= steady[0]) & (submit < steady[1])
    for name, measure in measures.items():
        value = measure()
        for group, rows in groups.items():
            yield (group, name), Sums.of(day[rows], value[rows], num_days)
    area = Sums.of(day, response, num_days, weight=width * runtime)
    yield (ALL, "response_by_area_s"), area


def _ended(table: pa.Table) -> IntArray:
    """Return the rows of the jobs that ran to an end."""
    outcomes = table.column("outcome").combine_chunks()
    if isinstance(outcomes, pa.ChunkedArray):
        outcomes = outcomes.chunk(0)
    names = outcomes.dictionary.to_pylist()
    codes = [code for code, name in enumerate(names) if name in ("completed", "timeout")]
    return np.flatnonzero(np.isin(plain(outcomes.indices.cast(pa.int64())), codes))


def _json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise RunError(f"{path} cannot be read ({error}). Run the study again") from error
    if not isinstance(content, Mapping):
        raise RunError(f"{path} is not a JSON object. Run the study again")
    return dict(content)
