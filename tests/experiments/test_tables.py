"""Tables: every figure from the run folders alone, readable by programs, people and LaTeX."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest

from cpsched.errors import RunError
from cpsched.experiments import Baseline, carry_out, make_tables, write_tables
from cpsched.experiments.latex import escaped, latex
from cpsched.experiments.readable import main_table
from cpsched.experiments.results import STATISTICS
from cpsched.metrics.table import Column, Table
from cpsched.runs import load


@pytest.fixture
def made(place, plan):
    """The folder of a finished campaign."""
    carry_out(plan, place / "out")
    return place / "out"


def test_a_row_a_run_with_the_figures_of_its_summary(made):
    """The same numbers as in metrics.json, and the p99 of the queue at every second."""
    tables = make_tables(made)
    row = tables.runs.rows()[0]
    run = load(made / "runs" / row["folder"])
    summary = run.summary
    assert (row["workload"], row["system"], row["seed"]) == ("few", "four", 1)
    assert row["simulated"] == 60
    assert row["wait_mean_s"] == summary["wait_s"]["all"]["mean"]
    assert row["bounded_slowdown_p99"] == summary["bounded_slowdown"]["all"]["p99"]
    assert row["utilization_core"] == summary["utilization"]["core"]
    assert row["loss_of_capacity_core"] == summary["loss_of_capacity"]["core"]
    first, last = summary["window_s"]
    waits = zip(run.schedule.workload.submit, run.schedule.start, strict=True)
    seconds = np.zeros(last - first, dtype=np.int64)
    for submit, start in waits:
        seconds[submit - first : start - first] += 1
    assert row["queue_p99_jobs"] == np.quantile(seconds, 0.99, method="inverted_cdf")
    assert row["queue_mean_jobs"] == pytest.approx(seconds.mean())


def test_a_summary_is_the_mean_over_the_repetitions(made):
    """Counts are the same in all of them."""
    tables = make_tables(made)
    runs, summary = tables.runs.rows(), tables.summary.rows()
    assert len(summary) == 4
    first = summary[0]
    mine = [r for r in runs if (r["dispatcher"], r["predictor"]) == ("FIFO", "W")]
    assert first["repetitions"] == len(mine) == 3
    assert first["wait_mean_s"] == pytest.approx(sum(r["wait_mean_s"] for r in mine) / 3)
    assert (first["simulated"], first["rejected"]) == (60, 0)
    for name in ("wait_{}_s", "slowdown_{}", "bounded_slowdown_{}", "queue_{}_jobs"):
        assert all(isinstance(first[name.format(one)], float) for one in STATISTICS)
    for name in ("utilization_core", "makespan_s", "throughput_jobs_per_hour"):
        assert first[name] > 0


def test_classes_have_rows_of_their_own(made):
    """Here all jobs are short; of the others there is nothing to measure."""
    rows = make_tables(made).classes.rows()
    assert [row["class"] for row in rows[:3]] == ["short", "medium", "long"]
    assert [row["jobs"] for row in rows[:3]] == [60, 0, 0]
    assert rows[0]["wait_mean_s"] > 0
    assert rows[1]["wait_mean_s"] is None


def test_differences_are_paired_by_seed_and_predictor(made):
    """FIFO is the baseline: EASY with W against FIFO with W, seed by seed."""
    tables = make_tables(made)
    runs = tables.runs.rows()
    rows = tables.differences.rows()
    assert {(r["dispatcher"], r["base_dispatcher"]) for r in rows} == {("EASY", "FIFO")}
    assert all(r["predictor"] == r["base_predictor"] for r in rows)
    (row,) = [
        r for r in rows if (r["predictor"], r["class"], r["figure"]) == ("W", "all", "wait_mean_s")
    ]

    def waits(dispatcher):
        return np.array(
            [
                r["wait_mean_s"]
                for r in runs
                if (r["dispatcher"], r["predictor"]) == (dispatcher, "W")
            ]
        )

    assert row["difference"] == pytest.approx((waits("EASY") - waits("FIFO")).mean())
    geometric = np.exp(np.log(waits("EASY") / waits("FIFO")).mean())
    assert row["ratio"] == pytest.approx(geometric)
    assert row["ratio_low"] < row["ratio"] < row["ratio_high"]
    assert row["pairs"] == 3
    # An hour of log has no weeks to draw from.
    assert row["weeks"] is row["week_ratio_low"] is None
    assert row["verdict"] in ("lower", "unclear")


@pytest.mark.parametrize(
    ("baseline", "expected"),
    [
        (Baseline(dispatcher="EASY", predictor="R"), {("FIFO", "W"), ("FIFO", "R"), ("EASY", "W")}),
        (Baseline(predictor="R"), {("FIFO", "W"), ("EASY", "W")}),
        (Baseline(dispatcher="EASY"), {("FIFO", "W"), ("FIFO", "R")}),
    ],
)
def test_a_baseline_is_a_dispatcher_a_predictor_or_both(place, plan, baseline, expected):
    """What it leaves open is the run's own."""
    carry_out(replace(plan, baseline=baseline, seeds=(0,), jitter=0), place / "out")
    rows = make_tables(place / "out").differences.rows()
    assert {(row["dispatcher"], row["predictor"]) for row in rows} == expected
    # One run of each: no repetitions, no weeks, nothing to be sure of.
    verdicts = {row["verdict"] for row in rows}
    assert verdicts <= {"no interval", "equal"}


def test_files_say_the_same_in_every_format(made):
    """CSV and Parquet have every column in full; Markdown and LaTeX are for people."""
    tables = make_tables(made)
    files = {path.name: path for path in write_tables(tables, made / "tables")}
    for name, rows in tables.named().items():
        assert pq.read_table(files[f"{name}.parquet"]).to_pylist() == rows.rows()
        with files[f"{name}.csv"].open() as file:
            read = list(csv.DictReader(file))
        assert len(read) == len(rows)
        assert list(read[0]) == list(rows.columns)
    with files["runs.csv"].open() as file:
        first = next(csv.DictReader(file))
    assert float(first["wait_mean_s"]) == tables.runs.rows()[0]["wait_mean_s"]
    text = files["summary.md"].read_text()
    assert text.startswith("# a few runs\n\n## few on four\n\n### Wait\n\n| dispatcher |")
    assert "| FIFO | W | 60 | 0 | 3 |" in text
    assert "verdict" in files["differences.md"].read_text()
    source = files["summary.tex"].read_text()
    assert source.count(r"\begin{tabular}") == source.count(r"\end{tabular}") == 5
    assert len(set(re.findall(r"\\label\{(.*?)\}", source))) == 5


def test_tables_need_the_run_folders_alone(made):
    """Without the experiment's description: all runs there, the first dispatcher as baseline."""
    before = make_tables(made).runs.rows()
    (made / "experiment.json").unlink()
    tables = make_tables(made)
    assert sorted(map(str, before)) == sorted(map(str, tables.runs.rows()))
    assert tables.results.baseline == Baseline(dispatcher="EASY")


def test_tables_of_a_part(made):
    """Runs that are not there are said to be missing; the others have their rows."""
    import shutil

    folder = sorted((made / "runs").iterdir())[0]
    shutil.rmtree(folder)
    tables = make_tables(made)
    assert tables.results.missing == (folder.name,)
    repetitions = [row["repetitions"] for row in tables.summary.rows()]
    assert sorted(repetitions) == [2, 3, 3, 3]
    assert {row["pairs"] for row in tables.differences.rows()} == {2, 3}


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("metrics.json", "{}", "is damaged"),
        ("metrics.json", "[", "cannot be read"),
        ("jobs.parquet", "x", "is damaged"),
        ("queue.parquet", "x", "is damaged"),
        ("run.json", "[]", "no JSON object"),
    ],
)
def test_damage_is_named(made, file, content, message):
    """The run, and what helps."""
    folder = sorted((made / "runs").iterdir())[0]
    (folder / file).write_text(content)
    with pytest.raises(RunError, match=message) as found:
        make_tables(made)
    assert folder.name in str(found.value)
    assert "\n" not in str(found.value)


def test_a_damaged_description_is_named(made):
    """So is one of another format, and a folder that holds nothing."""
    file = made / "experiment.json"
    about = json.loads(file.read_text())
    file.write_text(json.dumps({**about, "format": 99}))
    with pytest.raises(RunError, match="format is 99"):
        make_tables(made)
    del about["runs"][0]["workload"]
    file.write_text(json.dumps(about))
    with pytest.raises(RunError, match="is damaged"):
        make_tables(made)
    with pytest.raises(RunError, match="holds no finished run"):
        make_tables(made / "tables")


def test_the_main_table_is_short(made):
    """Means, and ratios to the baseline with what they say."""
    means, ratios = main_table(make_tables(made))
    assert [column.header for column in means.table.columns][:5] == [
        "dispatcher", "predictor", "jobs", "rejected", "repetitions",
    ]  # fmt: skip
    assert ratios.table.columns[0].values == ("EASY", "EASY")
    assert ratios.title == "against the baseline"


def test_latex_runs_nothing():
    """Backslashes and all that LaTeX takes for its own are text."""
    table = Table(
        "50 %", (Column("a_b", "", (r"\input{x}", "-")), Column("n", "s", (1.5, None), 1))
    )
    text = latex(table, caption="a & b", label="t")
    assert r"\caption{a \& b. 50 \%.}" in text
    assert r"\textbackslash{}input\{x\} & 1.5 \\" in text
    assert r"-- & -- \\" in text
    assert r"a\_b & n [s] \\" in text
    assert escaped("a\nb~^<>#$") == (
        r"a b\textasciitilde{}\textasciicircum{}\textless{}\textgreater{}\#\$"
    )
