"""Tables: every figure from the run folders alone, readable by programs, people and LaTeX."""

import csv
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from altered import resign

from cpsched.errors import RunError
from cpsched.report import write_tables
from cpsched.report.readable import readable
from cpsched.report.table_files import as_csv, escaped, latex
from cpsched.study import Baseline, carry_out, load_run, make_tables
from cpsched.study.measures import STATISTICS
from cpsched.study.tables import Rows
from cpsched.util.tables import Column, Table

pytestmark = pytest.mark.slow


def test_a_row_a_run_with_the_figures_of_its_summary(finished):
    """The same numbers as in metrics.json, and the p99 of the queue at every second."""
    tables = make_tables(finished)
    row = tables.runs.rows()[0]
    run = load_run(finished / "runs" / row["folder"])
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


def test_a_summary_is_the_mean_over_the_repetitions(finished):
    """Counts are the same in all of them."""
    tables = make_tables(finished)
    runs, summary = tables.runs.rows(), tables.summary.rows()
    assert len(summary) == 4
    first = summary[0]
    mine = [r for r in runs if (r["dispatcher"], r["predictor"]) == ("FIFO", "W")]
    assert first["repetitions"] == len(mine) == 3
    assert first["wait_mean_s"] == pytest.approx(sum(r["wait_mean_s"] for r in mine) / 3)
    assert (first["simulated"], first["rejected"]) == (60, 0)
    for name in ("wait_{}_s", "slowdown_{}", "bounded_slowdown_{}"):
        assert all(isinstance(first[name.format(statistic)], float) for statistic in STATISTICS)
    for name in ("utilization_core", "makespan_s", "throughput_jobs_per_hour"):
        assert first[name] > 0


def test_classes_have_rows_of_their_own(finished):
    """Here all jobs are short; of the others there is nothing to measure."""
    rows = make_tables(finished).classes.rows()
    assert [row["class"] for row in rows[:3]] == ["short", "medium", "long"]
    assert [row["jobs"] for row in rows[:3]] == [60, 0, 0]
    assert rows[0]["wait_mean_s"] > 0
    assert rows[1]["wait_mean_s"] is None


def test_differences_are_paired_by_seed_and_predictor(finished):
    """FIFO is the baseline: EASY with W against FIFO with W, seed by seed."""
    tables = make_tables(finished)
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
    # An hour of log has no days to draw from.
    assert row["days"] is row["daily_ratio_low"] is None
    assert row["verdict"] in ("lower (this log)", "unclear")


@pytest.mark.parametrize(
    ("baseline", "expected"),
    [
        (Baseline(dispatcher="EASY", predictor="R"), {("FIFO", "W"), ("FIFO", "R"), ("EASY", "W")}),
        (Baseline(predictor="R"), {("FIFO", "W"), ("EASY", "W")}),
        (Baseline(dispatcher="EASY"), {("FIFO", "W"), ("FIFO", "R")}),
    ],
)
def test_a_baseline_is_a_dispatcher_a_predictor_or_both(place, study, baseline, expected):
    """What it leaves open is the run's own."""
    carry_out(replace(study, baseline=baseline, seeds=(0,), jitter=0), place / "out")
    rows = make_tables(place / "out").differences.rows()
    assert {(row["dispatcher"], row["predictor"]) for row in rows} == expected
    # One run of each: no repetitions, no weeks, nothing to be sure of.
    verdicts = {row["verdict"] for row in rows}
    assert verdicts <= {"one run", "equal"}


def test_files_say_the_same_in_every_format(made):
    """CSV has every column in full; Markdown is for people."""
    tables = make_tables(made)
    files = {path.name: path for path in write_tables(tables, made / "tables")}
    for name, rows in tables.named().items():
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


def test_a_seed_that_moves_nothing_is_a_repetition_too(place, read):
    """Also where no description says so."""
    text = (place / "study.toml").read_text()
    carry_out(read(text.replace("repeat = 3", "repeat = [0, 1]")), place / "still")
    (place / "still" / "study.json").unlink()
    assert {row["repetitions"] for row in make_tables(place / "still").summary.rows()} == {2}


def test_tables_need_the_run_folders_alone(made):
    """Without the study's description: all runs there, the first dispatcher as baseline."""
    before = make_tables(made).runs.rows()
    (made / "study.json").unlink()
    tables = make_tables(made)
    assert sorted(map(str, before)) == sorted(map(str, tables.runs.rows()))
    assert tables.results.baseline == Baseline(dispatcher="EASY")


def test_runs_of_different_studies_are_not_averaged(made, place, study):
    """Without a description only their names are alike: another part of the log, the same seed."""
    (made / "study.json").unlink()
    folder = sorted((made / "runs").iterdir())[0]
    about = json.loads((folder / "run.json").read_text())
    about["arguments"]["first"] = 20
    (folder / "run.json").write_text(json.dumps(about))
    with pytest.raises(RunError, match="not repetitions of each other; move one away"):
        make_tables(made)
    about["arguments"]["first"] = None
    (folder / "run.json").write_text(json.dumps(about))
    shutil.copytree(folder, made / "runs" / "copy")
    with pytest.raises(RunError, match="not repetitions of each other"):
        make_tables(made)


def test_a_run_repeated_is_no_second_measurement(place, read):
    """Three seeds that move nothing: one pair, and no interval that would make it sure."""
    text = (place / "study.toml").read_text()
    still = read(text.replace("repeat = 3", "repeat = 3\njitter = 0"))
    carry_out(still, place / "still")
    rows = make_tables(place / "still").differences.rows()
    assert {row["pairs"] for row in rows} == {1}
    assert {row["verdict"] for row in rows} <= {"one run", "equal"}
    assert make_tables(place / "still").summary.rows()[0]["repetitions"] == 3


def test_seeds_may_be_of_other_jobs(made):
    """Counts that differ are means; a class that one seed has not is compared in the others."""
    folders = sorted((made / "runs").iterdir())
    for folder in (path for path in folders if "-s1-" in path.name):
        summary = json.loads((folder / "metrics.json").read_text())
        summary["counts"]["in_log"] = summary["counts"]["simulated"] = 57
        for measure in ("wait_s", "slowdown", "bounded_slowdown"):
            short = summary[measure]["short"]
            summary[measure]["short"] = {**dict.fromkeys(short), "jobs": 0}
        (folder / "metrics.json").write_text(json.dumps(summary))
        resign(folder)
    tables = make_tables(made)
    row = tables.summary.rows()[0]
    assert (row["in_log"], row["rejected"]) == (59.0, 0)
    assert tables.classes.rows()[0]["jobs"] == 40.0
    pairs = {row["class"]: row["pairs"] for row in tables.differences.rows()}
    assert pairs == {"all": 3, "short": 2, "serial": 3, "large": 3, "huge": 3}


def test_differences_have_a_header_without_a_row(made):
    """The baseline's runs are not there: nothing is compared, and programs still read it."""
    columns = set(make_tables(made).differences.columns)
    for folder in (made / "runs").glob("*fifo*"):
        shutil.rmtree(folder)
    write_tables(make_tables(made), made / "tables")
    header = (made / "tables" / "differences.csv").read_text()
    assert set(header.strip().split(",")) == columns


def test_tables_are_written_all_or_none(made, monkeypatch):
    """A disk that is full leaves what was there."""
    tables = make_tables(made)
    write_tables(tables, made / "tables")
    before = {path.name: path.read_bytes() for path in (made / "tables").iterdir()}
    usual = Path.write_bytes

    def full(path, data):
        if "timing" in path.name:
            raise OSError(28, "No space left on device")
        return usual(path, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    other = replace(tables, results=replace(tables.results, title="other"))
    with pytest.raises(RunError, match=r"tables cannot be written to: No space left"):
        write_tables(other, made / "tables")
    assert {path.name: path.read_bytes() for path in (made / "tables").iterdir()} == before


def test_tables_of_a_part(made):
    """Runs that are not there are said to be missing; the others have their rows."""
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
        ("run.json", "[]", "not a JSON object"),
        (
            "run.json",
            '{"format": 99}',
            "format is 99, this cpsched reads 5; run the study again in a new folder",
        ),
    ],
)
def test_damage_is_named(made, file, content, message):
    """The run, and what helps."""
    folder = sorted((made / "runs").iterdir())[0]
    (folder / file).write_text(content)
    if file != "run.json":
        with pytest.raises(RunError, match=f"{file} is damaged: it was changed after"):
            make_tables(made)
        resign(folder)
    with pytest.raises(RunError, match=message) as error:
        make_tables(made)
    assert folder.name in str(error.value)
    assert "\n" not in str(error.value)


def test_no_cell_of_a_table_is_a_formula():
    """Names of users and queues come from logs."""
    rows = Rows({"name": ["=1+1", "@x", "-5", "a"], "value": [-1.5, None, True, 3]})
    assert as_csv(rows) == "name,value\n'=1+1,-1.5\n'@x,\n-5,true\na,3\n"


def test_damage_is_named_without_a_description(made):
    (made / "study.json").unlink()
    folder = sorted((made / "runs").iterdir())[0]
    (folder / "run.json").write_text("{}")
    with pytest.raises(RunError, match=f"{folder.name} is damaged"):
        make_tables(made)


def test_figures_are_numbers(made):
    folder = sorted((made / "runs").iterdir())[0]
    summary = json.loads((folder / "metrics.json").read_text())
    summary["wait_s"]["all"]["mean"] = "abc"
    (folder / "metrics.json").write_text(json.dumps(summary))
    resign(folder)
    with pytest.raises(RunError, match="is damaged .'abc' is not a number"):
        make_tables(made)


def test_a_damaged_description_is_named(made):
    """So is one of another format, and a folder that holds nothing."""
    file = made / "study.json"
    about = json.loads(file.read_text())
    file.write_text(json.dumps({**about, "format": 99}))
    with pytest.raises(RunError, match="format is 99"):
        make_tables(made)
    del about["runs"][0]["workload"]
    file.write_text(json.dumps(about))
    with pytest.raises(RunError, match="is damaged"):
        make_tables(made)
    with pytest.raises(RunError, match="is not a run and holds none"):
        make_tables(made / "tables")


def test_every_table_of_measures_shows_the_tail_of_the_wait(finished):
    """The 99.9th percentile and the longest beside whatever is the least."""
    readable_tables = readable(make_tables(finished))
    tables = [*readable_tables["summary"], *readable_tables["classes"], *readable_tables["sizes"]]
    assert len(tables) == 10
    for titled in tables:
        heads = [column.header for column in titled.table.columns]
        assert "p99.9 wait" in heads, titled.title
        assert "max wait" in heads, titled.title
    for titled in readable_tables["differences"]:
        assert "max wait" in [column.header for column in titled.table.columns]


def test_sizes_have_rows_of_their_own(finished):
    """Four cores: jobs of one are serial, of two large, of three and four huge."""
    rows = make_tables(finished).sizes.rows()[:5]
    assert [(row["size"], row["jobs"]) for row in rows] == [
        ("serial", 15), ("small", 0), ("midsize", 0), ("large", 15), ("huge", 30),
    ]  # fmt: skip
    assert rows[0]["wait_p99.9_s"] <= rows[0]["wait_max_s"]
    assert rows[1]["wait_mean_s"] is None


def test_waits_by_size_have_verdicts(finished):
    """For every size that has jobs, over the repetitions: sizes are not added up by week."""
    rows = [r for r in make_tables(finished).differences.rows() if r["figure"] == "wait_mean_s"]
    assert {row["class"] for row in rows} == {"all", "short", "serial", "large", "huge"}
    (huge,) = [row for row in rows if (row["class"], row["predictor"]) == ("huge", "W")]
    assert huge["pairs"] == 3
    assert huge["difference_low"] <= huge["difference"] <= huge["difference_high"]
    assert huge["daily_ratio_low"] is None
    assert huge["verdict"].startswith(("lower", "higher", "unclear"))


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
