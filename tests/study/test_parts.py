"""A schedule in parts, in files: written, measured, read and checked as the whole is."""

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tiny import jobs, machine, run

from cpsched.metrics import steps, summary
from cpsched.metrics.columns import queue_columns
from cpsched.metrics.summary import summarize
from cpsched.model import arrays, schedule
from cpsched.report import load_results
from cpsched.report.figures.data import read
from cpsched.study import group_results, load_run, save_run
from cpsched.study.reader import contradictions, wrong_inputs
from cpsched.util import arrow
from cpsched.verification import verify

TABLES = ("workload", "jobs", "allocations", "queue", "outages")


@pytest.fixture
def small_parts(monkeypatch):
    """Return what makes parts of seven jobs and rows, and files of a page."""

    def use():
        for module in (schedule, steps):
            monkeypatch.setattr(module, "PART", 7)
        monkeypatch.setattr(summary, "_PIECE", 7)
        monkeypatch.setattr(steps, "_PIECE", 3)
        monkeypatch.setattr(arrow, "ROWS", 7)
        monkeypatch.setattr(arrays, "_IN_FILE", 256)

    return use


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Jobs on several nodes that are killed, rejected, wait for others, and lose a node."""
    down = tmp_path_factory.mktemp("down") / "down.csv"
    down.write_text("node,from,to,known\nn1,30,90,30\nn0,400,500,200\n")
    rng = np.random.default_rng(3)
    num = 90
    rows = zip(
        np.sort(rng.integers(0, 900, num)).tolist(),
        rng.integers(1, 7, num).tolist(),
        rng.integers(0, 120, num).tolist(),
        rng.integers(1, 120, num).tolist(),
        strict=True,
    )
    workload = jobs(
        *rows,
        user=[f"u{number}" for number in rng.integers(0, 9, num)],
        nodes_max=np.where(np.arange(num) % 11, 100, 1),
        dependency=np.where(np.arange(num) % 8 == 7, np.arange(num) - 5, -1),
        recorded_start=np.arange(num) * 12,
        restartable=np.arange(num) % 3 == 0,
    )
    return run(workload, machine([2], [2], [2], [2]), "easy", outages=f"table:file={down}")


def test_parts_are_the_whole(finished, small_parts):
    schedule = finished.schedule
    small_parts()
    parts = list(schedule.parts())
    assert len(parts) == 13
    for name in ("start", "end", "outcome", "runtime_bound"):
        together = np.concatenate([getattr(part, name) for _, part in parts])
        assert (together == getattr(schedule, name)).all()
    assert {first + row for first, part in parts for row in part.rejected} == set(schedule.rejected)
    held = sorted(
        (first + job, start, node)
        for first, part in parts
        for job, start, node in zip(
            part.segments.job.tolist(),
            part.segments.start.tolist(),
            part.segments.node.tolist(),
            strict=True,
        )
    )
    segments = schedule.segments
    columns = (segments.job.tolist(), segments.start.tolist(), segments.node.tolist())
    assert held == sorted(zip(*columns, strict=True))


def test_measures_of_parts_are_those_of_the_whole(finished, small_parts):
    expected = json.dumps(summarize(finished.schedule))
    small_parts()
    assert json.dumps(summarize(finished.schedule)) == expected


def test_a_run_in_parts_is_the_same_run(finished, small_parts, tmp_path):
    """Its files hold the same, in more row groups; it is read, and every file agrees."""
    save_run(finished, tmp_path / "whole")
    small_parts()
    save_run(finished, tmp_path / "parts")
    for name in TABLES:
        table, parts = (
            pq.read_table(tmp_path / name_of_run / f"{name}.parquet")
            for name_of_run in ("whole", "parts")
        )
        assert parts.equals(table)
    assert pq.ParquetFile(tmp_path / "parts" / "queue.parquet").num_row_groups > 10
    read = load_run(tmp_path / "parts")
    assert (read.schedule.outcome == finished.schedule.outcome).all()
    assert read.schedule.rejected == finished.schedule.rejected
    assert not wrong_inputs(read)
    assert contradictions(read) == []
    longer = replace(read, folder=tmp_path / "whole")
    assert contradictions(longer) == []


def test_a_file_of_other_columns_is_a_contradiction(finished, tmp_path):
    """Not one of its columns belongs there."""
    save_run(finished, tmp_path / "run")
    read = load_run(tmp_path / "run")
    pq.write_table(pa.table({"other": [1, 2]}), tmp_path / "run" / "queue.parquet")
    problems = contradictions(read)
    assert "queue.parquet: column other does not belong there" in problems
    assert "queue.parquet: column time is missing" in problems


def test_what_is_wrong_is_found_in_any_part(finished, small_parts):
    """Ten jobs in several parts end late, one has another's node."""
    start = finished.schedule.start
    broken = np.where(
        np.arange(len(start)) % 9 == 4, finished.schedule.end + 1, finished.schedule.end
    )
    wrong = replace(finished.schedule, end=broken)
    expected = {
        (str(violation.rule), violation.job_id, violation.message)
        for violation in verify(wrong, limit=100)
    }
    assert len(expected) > 10
    small_parts()
    assert {
        (str(violation.rule), violation.job_id, violation.message)
        for violation in verify(wrong, limit=100)
    } == expected
    assert verify(finished.schedule) == []


def test_rows_of_the_queue_are_where_something_changes(finished, small_parts):
    """Between two pieces, too."""
    small_parts()
    rows = [
        tuple(column.to_pylist()[at] for name, column in piece.items() if name != "time")
        for piece in queue_columns(finished.schedule)
        for at in range(len(piece["time"]))
    ]
    assert all(row != next_ for row, next_ in pairwise(rows))
    assert rows[-1] == (0, 0, 0)


def test_group_results_and_figures_are_the_same(finished, small_parts, tmp_path, monkeypatch):
    """Of two runs that ended other jobs, and of two that ended the same."""
    other = run(finished.schedule.workload, finished.schedule.system, "fifo")
    later = finished.schedule.workload.take(np.arange(5, 90))
    base = run(later, finished.schedule.system, "easy:backfill=sjf")
    for name, simulated in (("a", finished), ("b", other), ("c", base)):
        save_run(simulated, tmp_path / name)

    def results():
        table = load_results(tmp_path, "fifo")
        runs = [key for key in table.repetitions if key[2] != "fifo"]
        rows = [[(row.metric, row.value) for row in table.group_rows(key)] for key in runs]
        figures = [read(load_run(table.repetitions[key][0].path), look=None) for key in runs]
        return rows, [
            (
                *figure.wait.values,
                *figure.slowdown.values,
                *figure.by_size.wait,
                *figure.by_size.number,
            )
            for figure in figures
        ]

    at_once = results()
    assert [len(rows) > 60 for rows in at_once[0]] == [True, True]
    assert len({dict(rows[:1])["common_jobs"] for rows in at_once[0]}) == 2
    small_parts()
    monkeypatch.setattr(group_results, "PART", 7)
    in_parts = results()
    for rows, same in zip(at_once[0], in_parts[0], strict=True):
        assert [name for name, _ in rows] == [name for name, _ in same]
        assert [value for _, value in rows] == pytest.approx([value for _, value in same])
    assert in_parts[1] == at_once[1]
