"""What runs, systems and workloads show of themselves in a session or a notebook."""

import subprocess
import sys

import numpy as np
import pytest
from notebooks import SYSTEM, four_cores, four_jobs, parsed

import cpsched
from cpsched.errors import ConfigError
from cpsched.logs import write as write_log
from cpsched.metrics.summary import summarize
from cpsched.model.workload import Workload
from cpsched.simulation.simulate import simulate
from cpsched.study import load_run, save_run
from cpsched.systems import load as load_system
from cpsched.util.types import MISSING
from cpsched.util.words import duration


def test_a_run_says_in_one_line_how_long_jobs_waited():
    """The three wait 0 s, 3,540 s and 7,080 s: 3,540 s on average."""
    run = simulate(four_jobs(), four_cores())
    mean, longest = duration(3540), duration(7080)
    assert repr(run) == f"<Run easy on four: 4 jobs, mean wait {mean}, longest {longest}>"
    run = simulate(four_jobs(), four_cores(), dispatcher="fifo", predictor="last")
    assert repr(run).startswith("<Run fifo with last on four: 4 jobs, ")
    none = simulate(four_jobs().select(start=180), four_cores())
    assert repr(none) == "<Run easy on four: 1 job, 0 completed jobs>"


def test_the_leading_metrics_of_a_run_are_at_hand():
    run = simulate(four_jobs(), four_cores())
    summary = summarize(run.schedule)
    assert run.summary == summary
    assert run.metrics["wait_mean_s"] == 3540
    assert run.metrics["wait_max_s"] == 7080
    assert run.metrics["response_by_area_s"] == summary["response_by_area_s"]
    assert run.metrics["steady_utilization_core"] is None  # four jobs have no steady window


def test_a_notebook_shows_the_leading_metrics_as_a_table():
    run = simulate(four_jobs(), four_cores())
    waits, shown = run.summary["wait_s"]["all"], parsed(run._repr_html_())
    (text,) = shown.texts
    assert text.startswith("easy on four: 4 jobs, 1 rejected\n")
    assert "bounded" in text
    for value in (*map(duration, (7140, 3540, waits["p99.9"], 7080)), "1.98"):
        assert value in text


def test_names_from_outside_are_text_in_a_notebook_and_one_line_in_a_session():
    system = four_cores("<script>alert(1)</script>")
    run = simulate(four_jobs(), system)
    assert "script" not in parsed(run._repr_html_()).tags
    assert "script" not in parsed(system._repr_html_()).tags
    assert "<script>alert(1)</script>" in "".join(parsed(run._repr_html_()).texts)
    named = Workload.build(
        title="a\nb\x1b[31m",
        job_id=["A"],
        submit=[0],
        units=[1],
        request=[[1]],
        resources=["core"],
        runtime=[1],
    )
    assert repr(named).startswith("<Workload a\\nb\\x1b[31m: 1 job ")


def test_jobs_as_a_data_frame_have_timestamps_where_the_log_has_dates():
    frame = simulate(four_jobs(epoch=1393632000), four_cores()).to_pandas()
    assert frame["job_id"].tolist() == ["A", "B", "C", "D"]
    assert str(frame["start"].dtype) == "datetime64[s, UTC]"
    assert str(frame["start"][1]) == "2014-03-01 01:00:00+00:00"
    assert frame["start"].isna().tolist() == [False, False, False, True]
    assert frame["wait"].tolist()[:3] == [0, 3540, 7080]
    assert np.isnan(frame["wait"][3])
    assert frame.groupby("user")["wait"].mean().to_dict() == {"ann": 3540, "bob": 3540}
    assert frame["cores"].tolist() == [4, 4, 4, 0]
    assert frame["bounded_slowdown"].tolist()[:3] == [1.0, 7140 / 3600, 10680 / 3600]
    assert frame["outcome"].tolist() == ["completed"] * 3 + ["rejected"]
    assert "5" in frame["reason"][3]


def test_jobs_of_a_log_without_dates_have_time_deltas():
    frame = simulate(four_jobs(), four_cores()).to_pandas()
    assert frame["end"].dt.total_seconds().tolist()[:3] == [3600, 7200, 10800]


def test_the_recorded_wait_stands_beside_the_simulated_one():
    recorded = four_jobs(recorded_start=[5, 70, MISSING, MISSING])
    frame = simulate(recorded, four_cores()).to_pandas()
    assert frame["recorded_wait"].tolist()[:2] == [5, 10]
    assert frame["recorded_wait"].isna().tolist() == [False, False, True, True]


def test_a_run_read_back_shows_what_the_simulated_one_did(tmp_path):
    run = simulate(four_jobs(epoch=1393632000), four_cores())
    save_run(run, tmp_path / "run")
    read = load_run(tmp_path / "run")
    assert repr(read) == repr(run).replace("<Run", "<SavedRun")
    assert read._repr_html_() == run._repr_html_()
    assert read.metrics == run.metrics
    assert read.to_pandas().equals(run.to_pandas())


def test_without_pandas_it_is_said_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    run = simulate(four_jobs(), four_cores())
    with pytest.raises(ConfigError, match=r"needs pandas. Install it with: pip install") as error:
        run.to_pandas()
    assert "\n" not in str(error.value)


def test_a_log_and_a_system_are_named_by_their_files(tmp_path):
    """It used to be: 'str' object has no attribute 'layout'."""
    workload, system = four_jobs(), four_cores()
    write_log(workload, tmp_path / "log.csv")
    (tmp_path / "four.toml").write_text(SYSTEM)
    expected = simulate(workload, system).schedule.start
    for log in (tmp_path / "log.csv", str(tmp_path / "log.csv")):
        for named in (tmp_path / "four.toml", str(tmp_path / "four.toml"), system):
            assert (simulate(log, named).schedule.start == expected).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("log.swf",), "the system is missing. Give the name of a bundled system"),
        ((7, "eurora"), "the workload is a int, must be the path of a log or a Workload"),
        (("{log}", 7), "the system is a int, must be a name"),
        (("nowhere.swf", "eurora"), "nowhere.swf: no such file"),
        (("{log}", "eurrora"), "Did you mean 'eurora'"),
        (("{log}", "nowhere.toml"), "nowhere.toml: no such file"),
    ],
)
def test_what_cannot_be_simulated_is_said_in_one_line(arguments, message, tmp_path):
    write_log(four_jobs(), tmp_path / "log.csv")
    given = [
        argument.format(log=tmp_path / "log.csv") if isinstance(argument, str) else argument
        for argument in arguments
    ]
    with pytest.raises((TypeError, ValueError), match=message) as error:
        simulate(*given)
    assert "\n" not in str(error.value)


def test_a_workload_says_how_many_jobs_and_when():
    assert repr(four_jobs()) == "<Workload few jobs: 4 jobs submitted within 3 min>"
    dated = four_jobs(epoch=1393632000)
    assert repr(dated).endswith(": 4 jobs submitted from 2014-03-01 to 2014-03-01>")
    assert repr(four_jobs().select(start=999)) == "<Workload few jobs: 0 jobs>"


def test_a_system_says_how_large_it_is():
    eurora = load_system("eurora")
    assert repr(eurora) == "<System eurora: 64 nodes, 1,024 cores, 64 gpus, 64 mics>"
    (shown,) = parsed(eurora._repr_html_()).texts
    assert {"gpu_bigmem", "32", "27", "5"} <= set(shown.split())
    assert eurora == load_system("eurora")


def test_the_usual_names_can_be_taken_from_the_package():
    """They are imported when they are used: ``cpsched --help`` is to stay quick."""
    with pytest.raises(AttributeError, match="no attribute 'simulat'"):
        _ = cpsched.simulat
    code = (
        "import cpsched, sys; assert 'numpy' not in sys.modules and 'cpsched.model' not in"
        " sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_log_as_a_data_frame_says_what_the_log_says():
    log = four_jobs(
        epoch=1393632000, recorded_start=[5, 70, MISSING, MISSING], dependency=[-1, 0, -1, -1],
        nodes_max=[1, 2**31 - 1, 2**31 - 1, 2**31 - 1], queue=["short", None, "short", "long"],
    )  # fmt: skip
    frame = log.to_pandas()
    assert str(frame["submit"][1]) == "2014-03-01 00:01:00+00:00"
    assert frame["recorded_start"].isna().tolist() == [False, False, True, True]
    assert frame["request.core"].tolist() == [1, 1, 1, 1]
    assert frame["dependency"].fillna("").tolist() == ["", "A", "", ""]
    assert frame["queue"].fillna("").tolist() == ["short", "", "short", "long"]
    assert frame["nodes_max"].isna().tolist() == [False, True, True, True]
    assert set(frame["status"]) == {"unknown"}
    assert set(frame["job_type"]) == {"rigid"}
    assert frame["requested_time"].tolist() == [3600, 3600, 3600, 1]
    assert four_jobs().to_pandas()["submit"].dt.total_seconds().tolist() == [0, 60, 120, 180]


@pytest.mark.parametrize("kind", ["wait", "slowdown", "queue", "use", "schedule"])
def test_a_run_draws_itself_in_a_notebook(kind, tmp_path):
    run = simulate(four_jobs(), four_cores())
    figure = run.plot(kind)
    assert figure._repr_png_().startswith(b"\x89PNG")
    figure.savefig(tmp_path / "figure.svg")


def test_what_cannot_be_drawn_is_one_line(monkeypatch):
    run = simulate(four_jobs(), four_cores())
    with pytest.raises(ValueError, match="unknown plot 'waits'.* Did you mean 'wait'"):
        run.plot("waits")
    with pytest.raises(ConfigError, match="resource: no job used 'gpu'. Resources in use: core"):
        run.plot("use", resource="gpu")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ConfigError, match=r"Install it with: pip install 'cpsched\[plots\]'"):
        run.plot("wait")
