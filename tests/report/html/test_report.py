"""Reports of runs: what is in the file, of whatever folder, and bad folders."""

import json
import re
import shutil
from dataclasses import asdict
from datetime import date

import pytest

pytest.importorskip("bokeh")
pytest.importorskip("matplotlib")

from tiny import FOUR_CORES, jobs, machine, run

from cpsched.errors import ConfigError, RunError
from cpsched.report.comparison import compare
from cpsched.report.html.make import make_report, make_summary
from cpsched.report.html.reproduce import simulate_line, study_text
from cpsched.study import carry_out, load_run, load_study, save_run
from cpsched.study.study_file import parse_study
from cpsched.util.models import Source

pytestmark = pytest.mark.slow

LOG = "; UnixStartTime: 1000000000\n" + "".join(
    f"{job} {20 * job} -1 {20 + job * 37 % 90} {1 + job * 7 % 4} -1 -1 {1 + job * 7 % 4}"
    f" {2 * (20 + job * 37 % 90)} -1 1 {job % 5} 1 -1 1 -1 -1 -1 -1\n"
    for job in range(1, 31)
)
STUDY = """\
title = "two \\"rules\\""
question = "which?"
systems = ["four.toml"]
repeat = [0, 3]
jitter = 5
[[workloads]]
name = "few"
file = "log.swf"
to = 4000
[predictors]
W = "requested"
R = "actual"
[dispatchers]
FIFO = "fifo"
"EASY+" = "easy:backfill=sjf"
[run]
overrun = "extend"
[baseline]
dispatcher = "FIFO"
predictor = "W"
"""


def sentence(text, name="lead"):
    """Return the first sentence of a kind."""
    return re.search(rf'<p class="{name}">(.*?)</p>', text)[1]


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A carried-out study of eight runs."""
    folder = tmp_path_factory.mktemp("study")
    (folder / "log.swf").write_text(LOG)
    (folder / "four.toml").write_text(FOUR_CORES)
    (folder / "study.toml").write_text(STUDY)
    carry_out(load_study(folder / "study.toml"), folder / "out")
    return folder / "out"


@pytest.fixture(scope="module")
def report(study):
    """The report of it."""
    return make_report(study)


def test_a_study_has_all_its_parts(study, report):
    """Question, finding, tables, figures, charts, what was left out, versions, the study."""
    text = report.page.read_text()
    assert report.runs == 8
    assert "<h1>two &#34;rules&#34;</h1>" in text
    for part in (
        "which?",
        "<h2>Log few, system four cores</h2>",
        "Excluded jobs and assumptions",
        "numpy",
        "cpsched compare study.toml",
        "The first of 2 repetitions.",
    ):
        assert part in text
    assert sentence(text).startswith("EASY+ with W against FIFO with W: mean bounded slowdown -")
    assert {path.suffix for path in report.figures} == {".svg"}
    assert (study / "tables" / "results.csv") in report.tables
    # The forest plot for phones is no file.
    assert len(re.findall(r"<figure", text)) == len(report.figures) + 1


def test_ratios_stand_under_the_names_of_metrics(report):
    """The baseline in absolute values, the others as ratios with an interval, sorted by value."""
    text = report.page.read_text()
    row = re.search(r'<tr><th scope="row">EASY\+ with W</th>(.*?)</tr>', text, re.DOTALL)[1]
    assert 'data-label="mean bounded slowdown" data-value="' in row
    assert re.search(r'<span class="(better|worse|unclear)">0\.\d\d</span> <small>', row)
    assert "FIFO with W (baseline)" in text


def test_another_baseline(study, tmp_path):
    """For this report only; one that no run is of is an error."""
    text = make_report(study, baseline="EASY+", out=tmp_path).page.read_text()
    named = set(re.findall(r'<th scope="row">([^<]*) \(baseline\)</th>', text))
    assert {name.partition(" ")[0] for name in named} == {"EASY+"}
    with pytest.raises(
        ConfigError, match="baseline: unknown dispatcher 'x'. Dispatchers of the runs: "
    ):
        make_report(study, baseline="x")


def test_it_is_the_same_again(study, report, tmp_path):
    """The same runs in another folder of that name: an equal page and equal figures."""
    copy = tmp_path / study.name
    shutil.copytree(study / "runs", copy / "runs")
    shutil.copy(study / "study.json", copy)
    second = make_report(copy)
    assert second.page.read_bytes() == report.page.read_bytes()
    for figure, other in zip(report.figures, second.figures, strict=True):
        assert figure.name == other.name
        assert figure.read_bytes() == other.read_bytes()


def test_nothing_is_loaded_from_elsewhere(report):
    """No address but those of XML's names and within the library; a policy forbids the rest."""
    text = report.page.read_text()
    assert re.findall(r"<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=[^>]*>", text) == []
    assert "default-src 'none'" in text
    assert "unsafe-eval" not in text


def test_identifiers_differ(report):
    """So that a clip path of one figure does not cut another."""
    text = report.page.read_text()
    names = re.findall(r'<[a-z][^<>]*\bid="([^"]+)"', text.partition("<script")[0])
    assert len(names) == len(set(names)) > 10
    for figure in re.findall(r"<svg\b.*?</svg>", text, re.DOTALL):
        used = set(re.findall(r'(?:href="#|url\(#)([^")]+)', figure))
        assert used <= set(re.findall(r'\bid="([^"]+)"', figure))


def test_missing_and_failed_runs_are_listed(study, tmp_path):
    """They are in no table, and both pages say so."""
    shutil.copytree(study, tmp_path / "out")
    gone = next((tmp_path / "out" / "runs").iterdir())
    gone.rename(tmp_path / "elsewhere")
    (tmp_path / "out" / "failed").mkdir()
    (tmp_path / "out" / "failed" / f"{gone.name}.json").write_text('{"error": "<b>broken</b>"}')
    (tmp_path / "out" / "failed" / "x.json").write_text('{"error": "of another study"}')
    text = make_report(tmp_path / "out").page.read_text()
    assert f"<code>{gone.name}</code>" in text
    assert "&lt;b&gt;broken&lt;/b&gt;" in text
    assert "of another study" not in text
    assert "1 of the study's runs is missing" in make_summary(tmp_path / "out").read_text()


@pytest.mark.parametrize(("form", "start"), [("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_a_single_run_and_other_formats(runs_folder, tmp_path, form, start):
    """Files are as asked, the page has its SVG all the same; and the run stays one that verifies."""
    report = make_report(runs_folder / "easy", out=tmp_path, form=form)
    assert report.figures
    assert all(path.read_bytes().startswith(start) for path in report.figures)
    text = report.page.read_text()
    assert ("<svg" in text, "<title>easy</title>" in text, report.runs) == (True, True, 1)
    load_run(runs_folder / "easy")


def test_hostile_names_are_text(page):
    """Nowhere in the file does a name from the log begin an element."""
    text = page.read_text()
    assert "<script>alert(1)" not in text
    assert "owned'</script>" not in text
    assert "<img" not in text
    assert "&#39;a log; rm -rf &#39;" in text
    # An escape sequence, and a file name that is not UTF-8.
    assert "\x1b" not in text
    assert r"\x1b\udcff.swf" in text


def test_the_summary_has_question_answer_gain_loss_and_limits(study, tmp_path):
    """All runs are in it, each in one sentence; the baseline's value is there once."""
    text = make_summary(study, out=tmp_path, day=date(2026, 1, 2)).read_text()
    assert "which?" in text
    assert "02 Jan 2026" in text
    assert "author: ____" in text
    assert sentence(text).startswith("EASY+ with W: mean bounded slowdown -")
    assert "<p>EASY+ with R: " in text
    for head in ("Gain", "Loss", "Confidence", "Not modelled"):
        assert f"<h3>{head}</h3>" in text
    assert "Wait less under EASY+ with W: " in text
    assert "<script" not in text
    assert make_summary(study, out=tmp_path, day=date(2026, 1, 2)).read_text() == text
    assert sorted(path.name for path in tmp_path.iterdir()) == ["summary.html"]


def test_the_study_can_be_carried_out_again(study):
    """What the page prints is a study, and the same one."""
    description = json.loads((study / "study.json").read_text())
    again = study_text(description["study"])
    file = study.with_name("study.toml")
    # Files are named with their folder, and the study is beside it.
    beside = file.parent.with_name("study.toml")
    assert parse_study(Source.of_toml(again, str(beside))) == load_study(file)


#: Seeds that are the generator's, a workload's own dispatchers, a runtime model; and each workload
#: under each setting, none of them in [run].
GENERATED = (
    """
        title = "co-allocation"
        systems = ["esp-1024"]
        dispatchers = ["fifo", "easy"]
        repeat = 2
        [[workloads]]
        name = "esp"
        generator = "esp"
        options = { gpus = 0 }
        seeded = true
        dispatchers = ["easy"]
        [run]
        runtime_model = "gpu-scaling:sigma=0.2"
        """,
    """
        systems = ["esp-16"]
        dispatchers = ["easy"]
        restarts = ["share=0.5,cost=30", "none"]
        [malleable]
        rigid = "none"
        "half, 10 s" = "share=0.5"
        [[workloads]]
        name = "a"
        generator = "esp-nodes"
        [[workloads]]
        name = "b"
        generator = "esp-nodes"
        options = { seed = 2 }
        malleable = ["rigid"]
        [run]
        runtime_model = "recorded"
        overrun = "extend"
        """,
)


@pytest.mark.parametrize(("text", "workloads"), [(GENERATED[0], 1), (GENERATED[1], 2 * 2 + 2)])
def test_a_study_of_generated_workloads_comes_back(text, workloads, tmp_path):
    study = parse_study(Source.of_toml(text, str(tmp_path / "study.toml")))
    assert len(study.workloads) == workloads
    again = study_text(json.loads(json.dumps(asdict(study))))
    assert parse_study(Source.of_toml(again, str(tmp_path / "study.toml"))) == study


def test_a_command_line_is_quoted():
    """A file's name is one word, whatever is in it; how the log was read is said too."""
    source = {"path": "/a b;c.swf", "format": "swf", "skip_bad_lines": True}
    description = {
        "dispatcher": "easy",
        "predictor": "requested",
        "arguments": {"source": source, "machine": "x", "first": 3, "formats": ["accasim"]},
        "settings": {"overrun": "extend", "enforce_time_limits": False, "seed": 0},
    }
    assert simulate_line(description) == (
        "cpsched simulate '/a b;c.swf' --system x -d easy -p requested --input-format swf"
        " --skip-bad-lines --first 3 --overrun extend --no-enforce-time-limits --export accasim"
    )
    description["arguments"]["jitter"] = 5
    assert simulate_line(description) is None
    description["arguments"] |= {"jitter": 0, "changes": ["scale-load:factor=2"]}
    assert simulate_line(description) is None
    assert simulate_line({"arguments": {}}) is None


def test_a_log_nobody_can_run(tmp_path):
    """All jobs rejected: there is nothing to draw, and the report says so."""
    save_run(run(jobs((0, 9, 10), (5, 9, 10)), machine((2,)), "easy"), tmp_path / "run")
    text = make_report(tmp_path / "run").page.read_text()
    assert "they can never run here: 2" in text


def test_bad_input_is_an_error(runs_folder, tmp_path):
    """A folder that is none or holds nothing; a damaged run; an unknown format."""
    with pytest.raises(RunError, match="none is not a folder"):
        make_report(tmp_path / "none")
    with pytest.raises(RunError, match=r"is not a folder of runs"):
        make_report(tmp_path)
    with pytest.raises(ConfigError, match="format: 'gif' is not one of: svg, png, pdf"):
        make_report(runs_folder, form="gif")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").write_text("{")
    with pytest.raises(
        RunError, match=re.escape(f"{tmp_path / 'run' / 'run.json'} cannot be read")
    ):
        make_report(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="cannot be made: there is a file"):
        make_report(runs_folder, out=tmp_path / "file")


def test_several_logs_have_what_holds_over_all(tmp_path):
    """First a section over all logs, then each log; the summary has the same in short."""
    (tmp_path / "four.toml").write_text(FOUR_CORES)
    for name, text in (("a", LOG), ("b", LOG.replace(" 20 ", " 25 "))):
        (tmp_path / f"{name}.swf").write_text(text)
    (tmp_path / "study.toml").write_text(
        'systems = ["four.toml"]\ndispatchers = ["easy", "fifo"]\n'
        '[[workloads]]\nfile = "a.swf"\n[[workloads]]\nfile = "b.swf"\n'
    )
    carry_out(load_study(tmp_path / "study.toml"), tmp_path / "out")
    report = make_report(tmp_path / "out")
    names = [path.name for path in report.figures]
    assert "all-logs-leading-metrics-as-ratios-to-the-baseline.svg" in names
    text = report.page.read_text()
    sections = re.findall(r"<h2>([^<]*)</h2>", text)
    assert sections == [
        "All logs", "Log a, system four cores", "Log b, system four cores", "Reproduce",
    ]  # fmt: skip
    assert "Geometric mean over 2 logs" in sentence(text)
    summary = make_summary(tmp_path / "out").read_text()
    assert re.findall(r"<h2>([^<]*)</h2>", summary) == sections[1:3]
    assert summary.count("<h3>Not modelled</h3>") == 1
    assert "geometric mean" in summary


def test_waits_of_0_in_some_repetitions_have_a_page(tmp_path):
    """Their ratio over days is known, and that over the repetitions is not."""
    (tmp_path / "four.toml").write_text(FOUR_CORES)
    (tmp_path / "log.swf").write_text(
        "\n".join(
            f"{2 * day + of} {86_400 * day + 3 * of} -1 2 4 -1 -1 4 9 -1 1 1 1 -1 1 -1 -1 -1"
            for day in range(10)
            for of in (0, 1)
            if day in (1, 7) or of == 0
        )
        + "\n"
    )
    comparison = compare(
        str(tmp_path / "log.swf"), str(tmp_path / "four.toml"), dispatchers=["easy", "fifo"],
        repeat=6, out=tmp_path / "out",
    )  # fmt: skip
    means = {run.values["wait_mean_s"] for run in comparison.table.study.runs}
    assert min(means) == 0 < max(means)
    assert "longest wait" in make_report(tmp_path / "out").page.read_text()


def test_a_generated_log_is_called_synthetic(tmp_path):
    """By its source, or by what its file says."""
    result = run(jobs((0, 1, 10), (5, 1, 10)), machine((2,)), "easy")
    save_run(result, tmp_path / "recorded", arguments={"source": {"path": "x.swf"}})
    save_run(result, tmp_path / "made", arguments={"source": {"generator": "esp", "options": {}}})
    names = [
        re.search("<h2>(.*?)</h2>", make_summary(tmp_path / name).read_text())[1]
        for name in ("recorded", "made")
    ]
    assert [name.partition(" ")[0] for name in names] == ["Log", "Synthetic"]
