"""Reports of runs: what is in the file, of whatever folder, and bad folders."""

import json
import re
import shutil
from dataclasses import asdict

import pytest

pytest.importorskip("bokeh")
pytest.importorskip("matplotlib")

from small_studies import swf
from tiny import FOUR_CORES, jobs, machine, run

from cpsched.errors import ConfigError, RunError
from cpsched.report.html.make import make_report
from cpsched.report.html.page import html_table, island
from cpsched.report.html.reproduce import simulate_line, study_text
from cpsched.report.readable import Titled
from cpsched.study import carry_out, load_run, load_study, save_run
from cpsched.study.study_file import parse_study
from cpsched.util.models import Source
from cpsched.util.tables import Column, Table

pytestmark = pytest.mark.slow

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


def first_sentence(text):
    """Return what the finding of a page begins with, without elements."""
    found = re.search(r'<p class="lead">(.*?)</p>', text)
    return re.sub(r"<[^>]+>", "", found[1]).replace("\xa0", " ")


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A carried-out study of eight runs."""
    folder = tmp_path_factory.mktemp("study")
    (folder / "log.swf").write_text(swf(30, gap=20))
    (folder / "four.toml").write_text(FOUR_CORES)
    (folder / "study.toml").write_text(STUDY)
    carry_out(load_study(folder / "study.toml"), folder / "out")
    return folder / "out"


@pytest.fixture(scope="module")
def report(study):
    """The report of it."""
    return make_report(study)


def test_a_study_has_all_its_parts(study, report):
    """Question, tables, figures, the chart, what was left out, versions, the study."""
    text = report.page.read_text()
    assert report.runs == 8
    assert "<h1>two &#34;rules&#34;</h1>" in text
    for part in (
        "which?",
        "few on four",
        "What was left out",
        "numpy",
        "cpsched compare study.toml",
    ):
        assert part in text
    assert first_sentence(text).startswith(
        "EASY+ with W lowers the mean bounded slowdown of FIFO with W by "
    )
    shown = set(re.findall(r'<figure id="([^"]+)"', text))
    files = {path.stem for path in report.figures}
    # Gantt charts of a day are files for papers; the page has one to look into.
    assert shown == {name for name in files if "-nodes-under-" not in name}
    assert files > shown
    assert {path.suffix for path in report.figures} == {".svg"}
    assert (study / "tables" / "summary.csv") in report.tables
    assert "verdict" in text


def test_another_baseline(study, tmp_path):
    """For this report only; one that no run is of is an error."""
    text = make_report(study, baseline="EASY+", out=tmp_path).page.read_text()
    named = re.findall(r'<span class="run"[^>]*>([^<]*)</span> <span class="base">', text)
    assert {name.partition(",")[0] for name in named} == {"EASY+"}
    with pytest.raises(ConfigError, match="baseline: no run is of 'x'; there are: "):
        make_report(study, baseline="x")


def test_ratios_are_sorted_by_their_numbers():
    """Their texts have intervals, and more decimals where they are small."""
    column = Column("ratio", "", ("0.12 (0.1 to 0.2)", "0.026 (0.02 to 0.03)", "-"),
                    sorted_by=(0.12, 0.026, None))  # fmt: skip
    rows = html_table(Titled("p", "t", Table("", (column,))))["rows"]
    assert [row[0]["value"] for row in rows] == [0.12, 0.026, None]
    assert [row[0]["text"] for row in rows] == [True] * 3


def test_it_is_the_same_again(study, report, tmp_path):
    """The same study carried out elsewhere: equal schedules, and equal figures of them."""
    carry_out(load_study(study.with_name("study.toml")), tmp_path)
    second = make_report(tmp_path)
    schedules = [file.relative_to(study) for file in study.rglob("jobs.parquet")]
    assert len(schedules) == 8
    figures = [figure.relative_to(study) for figure in report.figures]
    for file in (*schedules, *figures):
        assert (study / file).read_bytes() == (tmp_path / file).read_bytes(), file
    assert [figure.name for figure in report.figures] == [figure.name for figure in second.figures]


def test_nothing_is_loaded_from_elsewhere(report):
    """No address but those of XML's names and within the library; a policy forbids the rest."""
    text = report.page.read_text()
    assert re.findall(r"<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=[^>]*>", text) == []
    assert "default-src 'none'" in text


def test_identifiers_of_figures_differ(report):
    """So that a clip path of one does not cut another."""
    text = report.page.read_text()
    figures = re.findall(r"<svg\b.*?</svg>", text.partition("island")[0], re.DOTALL)
    found = [name for figure in figures for name in set(re.findall(r'\bid="([^"]+)"', figure))]
    assert len(found) == len(set(found)) > 0
    for figure in figures:
        used = set(re.findall(r'(?:href="#|url\(#)([^")]+)', figure))
        assert used <= set(re.findall(r'\bid="([^"]+)"', figure))


def test_missing_and_failed_runs_are_said(study, tmp_path):
    """They are in no table, and the page says so."""
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


def test_an_island_cannot_be_left():
    """JSON in a script element has no character that HTML looks at."""
    hostile = {"</script>": "<!--&\u2028"}
    text = island(hostile)
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == hostile


def test_the_study_can_be_carried_out_again(study):
    """What the page prints is a study, and the same one."""
    about = json.loads((study / "study.json").read_text())
    again = study_text(about["study"])
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
    about = {
        "dispatcher": "easy",
        "predictor": "requested",
        "arguments": {"source": source, "machine": "x", "first": 3, "formats": ["accasim"]},
        "settings": {"overrun": "extend", "enforce_time_limits": False, "seed": 0},
    }
    assert simulate_line(about) == (
        "cpsched simulate '/a b;c.swf' --system x -d easy -p requested --input-format swf"
        " --skip-bad-lines --first 3 --overrun extend --no-enforce-time-limits --export accasim"
    )
    about["arguments"]["jitter"] = 5
    assert simulate_line(about) is None
    about["arguments"] |= {"jitter": 0, "changes": ["scale-load:factor=2"]}
    assert simulate_line(about) is None
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
    with pytest.raises(RunError, match=r"is not a run and holds none"):
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
