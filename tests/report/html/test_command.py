"""``cpsched report`` as somebody types it."""

import builtins
import json
import shutil

import pyarrow.parquet as pq
import pytest
from altered import resign, rewrite

pytestmark = pytest.mark.slow

LOG = "; UnixStartTime: 1000000000\n" + "".join(
    f"{job} {20 * job} -1 60 {1 + job % 4} -1 -1 {1 + job % 4} 90 -1 1 1 1 -1 1 -1 -1 -1\n"
    for job in range(1, 31)
)


@pytest.fixture
def run(four_cores, cpsched):
    """A finished run; we are in the folder it is in."""
    (four_cores / "log.swf").write_text(LOG)
    code, _, _ = cpsched("simulate", "log.swf", "--system", "four.toml", "--out", "run")
    assert code == 0
    return four_cores / "run"


@pytest.fixture
def _libraries():
    pytest.importorskip("bokeh")
    pytest.importorskip("matplotlib")


@pytest.mark.usefixtures("_libraries")
def test_a_run_is_reported(run, cpsched):
    """The files are named; the run still verifies."""
    code, out, err = cpsched("report", "run")
    assert (code, err) == (0, "")
    assert out.startswith("1 run, ")
    assert "Report:  run/report.html (" in out
    assert (run / "figures").is_dir()
    assert (run / "tables" / "results.csv").is_file()
    assert cpsched("verify", "run")[0] == 0


@pytest.mark.usefixtures("_libraries")
def test_runs_that_are_not_of_the_study_are_noted(run, cpsched):
    """They are left out, and a run of the study is not named."""
    options = ["--system", "four.toml", "-d", "easy", "--no-report"]
    assert cpsched("compare", "log.swf", *options, "--out", "study")[0] == 0
    assert cpsched("report", "study")[2] == ""
    (own,) = (run / "runs").iterdir()
    shutil.copytree(own, run.parent / "study" / "runs" / "mine")
    code, out, err = cpsched("report", "study")
    assert (code, out[:5]) == (0, "1 run")
    assert (
        "note: the report leaves out 1 run in study/runs that the study did not make: mine" in err
    )


@pytest.mark.usefixtures("_libraries")
def test_its_places_are_data_if_asked_for(run, cpsched):
    code, out, _ = cpsched("report", "run", "--json")
    output = json.loads(out)
    assert (code, output["schema"], output["runs"]) == (0, "cpsched.report/1", 1)
    assert output["report"] == "run/report.html"


def test_a_summary_is_a_page_of_its_own(run, cpsched):
    """Nothing else is written; its author is in it, as text."""
    pytest.importorskip("matplotlib")
    before = sorted(path.name for path in run.iterdir())
    code, out, err = cpsched("report", "run", "--summary", "--author", "A. <b>Author</b>")
    assert (code, out, err) == (0, "Summary: run/summary.html\n", "")
    assert sorted(path.name for path in run.iterdir()) == sorted([*before, "summary.html"])
    assert "A. &lt;b&gt;Author&lt;/b&gt;" in (run / "summary.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--author", "x"), "--author: applies to the summary. Add --summary"),
        (
            ("--summary", "--export", "png"),
            "--export: applies to the report's figures. Leave it out",
        ),
    ],
)
def test_options_that_do_not_fit_are_one_line(run, cpsched, arguments, message):
    """None is dropped in silence."""
    code, out, err = cpsched("report", "run", *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.usefixtures("_libraries")
def test_elsewhere_and_in_another_format(run, cpsched):
    """The run's folder is left alone."""
    before = sorted(path.name for path in run.iterdir())
    code, out, _ = cpsched("report", "run", "--out", "there/new", "--export", "png")
    assert code == 0
    assert "Figures: there/new/figures" in out
    assert list((run.parent / "there" / "new" / "figures").glob("*.png"))
    assert sorted(path.name for path in run.iterdir()) == before


@pytest.mark.usefixtures("_libraries")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("report", "nowhere"), "nowhere is not a folder. Name one made by cpsched compare or"),
        (("report", "."), ". is a folder"),
        (
            ("report", "run", "--out", "log.swf"),
            "log.swf cannot be made: there is a file of that name",
        ),
    ],
)
def test_bad_input_is_one_line(run, cpsched, arguments, message):
    """Exit code 2, nothing on stdout."""
    if arguments == ("report", "."):
        run.rename(run.parent / "deep")
        message = ". is not a folder of runs (run.json is missing)"
    code, out, err = cpsched(*arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("library", ["bokeh", "matplotlib"])
def test_a_missing_library_is_one_line(run, cpsched, monkeypatch, library):
    """It says which, and how to get it."""
    if library != "bokeh":
        pytest.importorskip("bokeh")
    real = builtins.__import__

    def without(name, *rest, **more):
        if name.partition(".")[0] == library:
            raise ImportError(f"No module named '{library}'")
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    code, out, err = cpsched("report", "run")
    assert (code, out) == (2, "")
    assert f"No module named '{library}'" in err
    assert "pip install 'cpsched[plots]'" in err
    assert err.count("\n") == 1


def _changed(column, change):
    """Edit the values of a column of jobs."""

    def edit(run):
        values = pq.read_table(run / "jobs.parquet").column(column).to_pylist()
        rewrite(run / "jobs.parquet", change(values), column)

    return edit


def _system(capacity):
    def edit(run):
        system = json.loads((run / "system.json").read_text())
        system["nodes"][0]["capacity"] = [capacity]
        (run / "system.json").write_text(json.dumps(system))

    return edit


EDITS = {
    "a list of times": _changed("start", lambda values: [[value] for value in values]),
    "a list of cores": _changed("cores", lambda values: [[value] for value in values]),
    "an end before the start": _changed("end", lambda values: [0, *values[1:]]),
    "a late end": _changed("end", lambda values: [10**11, *values[1:]]),
    "a submit out of range": _changed("submit", lambda values: [2**62, *values[1:]]),
    "a huge node": _system(10**30),
    "a list in a node": _system([1]),
}


@pytest.mark.usefixtures("_libraries")
@pytest.mark.parametrize("command", ["report", "verify"])
@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_an_altered_run_is_one_line(run, cpsched, edit, command):
    """Each was a traceback, also where digests did not fit: content was read first."""
    (folder,) = (run / "runs").iterdir()
    edit(folder)
    code, out, err = cpsched(command, "run")
    assert code == 1 if command == "verify" else 2
    assert "it was changed after it was written" in out + err
    resign(folder)
    code, out, err = cpsched(command, "run")
    assert code in ((1, 2) if command == "verify" else (0, 2))
    assert err.count("\n") <= 1


@pytest.mark.usefixtures("_libraries")
@pytest.mark.parametrize("name", ["tables", "figures"])
def test_a_report_follows_no_link(run, cpsched, name):
    """Its files would be written to somebody else's folder."""
    shutil.rmtree(run / name, ignore_errors=True)
    (run.parent / "theirs").mkdir()
    (run / name).symlink_to(run.parent / "theirs")
    code, out, err = cpsched("report", "run")
    assert (code, out) == (2, "")
    assert f"run/{name} cannot be written to: is a link" in err
    assert not list((run.parent / "theirs").iterdir())
