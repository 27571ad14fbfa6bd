"""The results of a study: every metric from the run folders alone."""

import csv
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from altered import resign

from cpsched.errors import RunError
from cpsched.metrics.definitions import ALL
from cpsched.report import load_results, write_tables
from cpsched.report.files import as_csv, document
from cpsched.report.views import View
from cpsched.study import Baseline, carry_out, load_run

pytestmark = pytest.mark.slow

SHORT = ("length", "short")


def key(dispatcher, predictor="W"):
    return ("few", "four", dispatcher, predictor)


def compared(table):
    return [row for row in table.rows if row.baseline is not None]


def test_a_run_has_the_metrics_of_its_summary(finished):
    """The same numbers as in metrics.json, and the p99 of the queue at every second."""
    result = load_results(finished).study.runs[0]
    run = load_run(result.path)
    summary, values = run.summary, result.values
    assert (result.workload, result.system, result.seed) == ("few", "four", 1)
    assert values["simulated"] == 60
    assert values["wait_mean_s"] == summary["wait_s"]["all"]["mean"]
    assert values["bounded_slowdown_p99"] == summary["bounded_slowdown"]["all"]["p99"]
    assert values["utilization_core"] == summary["utilization"]["core"]
    assert values["loss_of_capacity_core"] == summary["loss_of_capacity"]["core"]
    first, last = summary["window_s"]
    waits = zip(run.schedule.workload.submit, run.schedule.start, strict=True)
    seconds = np.zeros(last - first, dtype=np.int64)
    for submit, start in waits:
        seconds[submit - first : start - first] += 1
    assert values["queue_p99_jobs"] == np.quantile(seconds, 0.99, method="inverted_cdf")
    assert values["queue_mean_jobs"] == pytest.approx(seconds.mean())


def test_a_value_is_the_mean_over_the_repetitions(finished):
    """Counts are the same in all of them."""
    table = load_results(finished)
    assert len(table.repetitions) == 4
    runs = table.repetitions[key("FIFO")]
    row = table.get(key("FIFO"), "wait_mean_s")
    assert row.repetitions == len(runs) == 3
    assert row.value == pytest.approx(sum(run.values["wait_mean_s"] for run in runs) / 3)
    counts = [table.get(key("FIFO"), name).value for name in ("simulated", "rejected")]
    assert counts == [60, 0]


def test_groups_of_jobs_have_rows_of_their_own(finished):
    """All jobs are short. On four cores jobs of one are serial, of two large, of more huge."""
    table = load_results(finished)
    assert table.get(key("FIFO"), "wait_mean_s", SHORT).value > 0
    assert table.get(key("FIFO"), "wait_mean_s", ("length", "medium")).value is None
    (run, *_) = table.repetitions[key("FIFO")]
    jobs = {group[1]: values["jobs"] for group, values in run.metrics.items() if group != ALL}
    assert jobs == {
        "short": 60,
        "medium": 0,
        "long": 0,
        "serial": 15,
        "small": 0,
        "midsize": 0,
        "large": 15,
        "huge": 30,
    }
    huge = table.get(key("EASY"), "wait_mean_s", ("size", "huge"))
    assert huge.pairs == 3
    low, high = huge.difference_interval
    assert low <= huge.difference <= high
    assert huge.days is None
    assert huge.verdict.startswith(("lower", "higher", "unclear"))


def test_comparisons_are_paired_by_seed_and_predictor(finished):
    """FIFO is the baseline: EASY with W against FIFO with W, seed by seed."""
    table = load_results(finished)
    rows = compared(table)
    assert {(row.run[2], row.baseline[2]) for row in rows} == {("EASY", "FIFO")}
    assert all(row.run[3] == row.baseline[3] for row in rows)
    row = table.get(key("EASY"), "wait_mean_s")

    def waits(dispatcher):
        return np.array([run.values["wait_mean_s"] for run in table.repetitions[key(dispatcher)]])

    assert row.difference == pytest.approx((waits("EASY") - waits("FIFO")).mean())
    assert row.ratio == pytest.approx(np.exp(np.log(waits("EASY") / waits("FIFO")).mean()))
    assert row.interval[0] < row.ratio < row.interval[1]
    assert row.pairs == 3
    # An hour of log has no days.
    assert row.days is None
    assert row.verdict in ("lower (this log)", "unclear")


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
    rows = compared(load_results(place / "out"))
    assert {row.run[2:] for row in rows} == expected
    # One run of each: no repetitions, no verdict.
    assert {row.verdict for row in rows if row.verdict} <= {"one run", "equal"}


def test_files_say_the_same_in_every_format(made):
    """CSV has every column in full; Markdown and LaTeX are for people."""
    table = load_results(made)
    files = {path.name: path for path in write_tables(table, made / "tables")}
    assert set(files) == {
        *("results.csv", "runs.csv", "outcomes.csv", "timing.csv", "results.md", "results.tex"),
    }
    with files["results.csv"].open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(table.rows)
    (row,) = [
        row
        for row in rows
        if (row["dispatcher"], row["predictor"], row["jobs"], row["metric"])
        == ("EASY", "W", "all", "wait_mean_s")
    ]
    result = table.get(key("EASY"), "wait_mean_s")
    assert float(row["value"]) == result.value
    assert float(row["ratio_low"]) == result.interval[0]
    assert (row["base_dispatcher"], row["unit"]) == ("FIFO", "s")
    with files["runs.csv"].open() as file:
        first = next(csv.DictReader(file))
    assert float(first["wait_mean_s"]) == table.study.runs[0].values["wait_mean_s"]
    text = files["results.md"].read_text()
    assert text.startswith(
        "# a few runs\n\n## few on four\n\n### leading metrics\n\n| dispatcher |"
    )
    assert "| FIFO with W (baseline) |" in text
    latex = files["results.tex"].read_text()
    assert latex.count(r"\begin{tabular}") == latex.count(r"\end{tabular}") == text.count("###")
    assert f"{result.ratio:.2f} ({result.interval[0]:.2f} to {result.interval[1]:.2f})" in latex


def test_a_seed_that_moves_nothing_is_a_repetition_too(place, read):
    """Also where no description says so."""
    text = (place / "study.toml").read_text()
    carry_out(read(text.replace("repeat = 3", "repeat = [0, 1]")), place / "still")
    (place / "still" / "study.json").unlink()
    runs = load_results(place / "still").repetitions.values()
    assert {len(runs_of_key) for runs_of_key in runs} == {2}


def test_results_need_the_run_folders_alone(made):
    """Without the study's description: all runs there, the first dispatcher as baseline."""
    before = load_results(made)
    (made / "study.json").unlink()
    after = load_results(made)
    values = [
        sorted((run.folder, str(run.values)) for run in table.study.runs)
        for table in (before, after)
    ]
    assert values[0] == values[1]
    assert after.study.baseline == Baseline(dispatcher="EASY")


def test_runs_of_different_studies_are_not_averaged(made, place, study):
    """Without a description only their names are alike: another part of the log, the same seed."""
    (made / "study.json").unlink()
    folder = sorted((made / "runs").iterdir())[0]
    description = json.loads((folder / "run.json").read_text())
    description["arguments"]["first"] = 20
    (folder / "run.json").write_text(json.dumps(description))
    with pytest.raises(RunError, match="not repetitions of each other. Move one away"):
        load_results(made)
    description["arguments"]["first"] = None
    (folder / "run.json").write_text(json.dumps(description))
    shutil.copytree(folder, made / "runs" / "copy")
    with pytest.raises(RunError, match="not repetitions of each other"):
        load_results(made)


def test_a_run_repeated_is_no_second_measurement(place, read):
    """Three seeds that move nothing: one pair, and no interval that would make it sure."""
    text = (place / "study.toml").read_text()
    still = read(text.replace("repeat = 3", "repeat = 3\njitter = 0"))
    carry_out(still, place / "still")
    rows = [row for row in compared(load_results(place / "still")) if row.compared]
    assert {row.pairs for row in rows} == {1}
    assert {row.verdict for row in rows} <= {"one run", "equal"}
    assert {row.repetitions for row in rows} == {3}


def test_seeds_may_be_of_other_jobs(made):
    """Counts that differ are means; a group that one seed has not is compared in the others."""
    folders = sorted((made / "runs").iterdir())
    for folder in (path for path in folders if "-s1-" in path.name):
        summary = json.loads((folder / "metrics.json").read_text())
        summary["counts"]["in_log"] = summary["counts"]["simulated"] = 57
        for measure in ("wait_s", "slowdown", "bounded_slowdown"):
            short = summary[measure]["short"]
            summary[measure]["short"] = {**dict.fromkeys(short), "jobs": 0}
        (folder / "metrics.json").write_text(json.dumps(summary))
        resign(folder)
    table = load_results(made)
    counts = [table.get(key("FIFO"), name).value for name in ("in_log", "rejected")]
    assert counts == [59.0, 0]
    waits = [row for row in compared(table) if row.metric == "wait_mean_s" and row.compared]
    pairs = {row.group[1]: row.pairs for row in waits}
    assert pairs == {"all": 3, "short": 2, "serial": 3, "large": 3, "huge": 3}


def test_without_a_baseline_nothing_is_compared(made):
    """The baseline's runs are not there; programs still read the table."""
    for folder in (made / "runs").glob("*fifo*"):
        shutil.rmtree(folder)
    table = load_results(made)
    assert compared(table) == []
    write_tables(table, made / "tables")
    with (made / "tables" / "results.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["ratio"] for row in rows} == {""}


def test_tables_are_written_all_or_none(made, monkeypatch):
    """A disk that is full leaves what was there."""
    table = load_results(made)
    write_tables(table, made / "tables")
    before = {path.name: path.read_bytes() for path in (made / "tables").iterdir()}
    usual = Path.write_bytes

    def full(path, data):
        if "timing" in path.name:
            raise OSError(28, "No space left on device")
        return usual(path, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    other = replace(table, study=replace(table.study, title="other"))
    with pytest.raises(RunError, match=r"tables cannot be written to: No space left"):
        write_tables(other, made / "tables")
    assert {path.name: path.read_bytes() for path in (made / "tables").iterdir()} == before


def test_results_of_a_part(made):
    """Runs that are not there are named; the others have their rows."""
    folder = sorted((made / "runs").iterdir())[0]
    shutil.rmtree(folder)
    table = load_results(made)
    assert table.study.missing == (folder.name,)
    assert sorted(len(runs_of_key) for runs_of_key in table.repetitions.values()) == [2, 3, 3, 3]
    assert {row.pairs for row in compared(table) if row.compared} == {2, 3}


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
            "format is 99, this cpsched reads 6. Run the study again in a new folder",
        ),
    ],
)
def test_damage_is_named(made, file, content, message):
    """The run, and what helps."""
    folder = sorted((made / "runs").iterdir())[0]
    (folder / file).write_text(content)
    if file != "run.json":
        with pytest.raises(RunError, match=f"{file} is damaged: it was changed after"):
            load_results(made)
        resign(folder)
    with pytest.raises(RunError, match=message) as error:
        load_results(made)
    assert folder.name in str(error.value)
    assert "\n" not in str(error.value)


def test_damage_is_named_without_a_description(made):
    (made / "study.json").unlink()
    folder = sorted((made / "runs").iterdir())[0]
    (folder / "run.json").write_text("{}")
    with pytest.raises(RunError, match=f"{folder.name} is damaged"):
        load_results(made)


def test_metrics_are_numbers(made):
    folder = sorted((made / "runs").iterdir())[0]
    summary = json.loads((folder / "metrics.json").read_text())
    summary["wait_s"]["all"]["mean"] = "abc"
    (folder / "metrics.json").write_text(json.dumps(summary))
    resign(folder)
    with pytest.raises(RunError, match="is damaged .'abc' is not a number"):
        load_results(made)


def test_a_damaged_description_is_named(made):
    """So is one of another format, and a folder that holds nothing."""
    file = made / "study.json"
    description = json.loads(file.read_text())
    file.write_text(json.dumps({**description, "format": 99}))
    with pytest.raises(RunError, match="format is 99"):
        load_results(made)
    del description["runs"][0]["workload"]
    file.write_text(json.dumps(description))
    with pytest.raises(RunError, match="is damaged"):
        load_results(made)
    with pytest.raises(RunError, match="is not a folder of runs"):
        load_results(made / "tables")


def test_no_cell_of_a_table_is_a_formula():
    """Names of users and queues come from logs."""
    rows = [{"name": name, "value": value}
            for name, value in (("=1+1", -1.5), ("@x", None), ("-5", 2), ("a", 3))]  # fmt: skip
    assert as_csv(rows) == "name,value\n'=1+1,-1.5\n'@x,\n-5,2\na,3\n"


def test_latex_and_markdown_run_nothing():
    """Backslashes and all that they take for their own are text."""
    view = View("", "50 %", ["a_b", "n"], [[r"\input{x}", "1.5"], ["a\nb~^<>#$", None]])
    text = document("tables.tex.j2", "t", [("a & b", [view])])
    assert r"\caption{a \& b: 50 \%}" in text
    assert r"\textbackslash{}input\{x\} & 1.5 \\" in text
    assert r"a\_b & n \\" in text
    assert r"a b\textasciitilde{}\textasciicircum{}\textless{}\textgreater{}\#\$ & - \\" in text
    text = document("tables.md.j2", "t", [("a|b", [view])])
    assert r"## a\|b" in text
    assert r"| \\input\{x\} | 1.5 |" in text
