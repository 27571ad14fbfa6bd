"""What runs, systems and workloads show of themselves in a session or a notebook."""

from __future__ import annotations

import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

import cpsched
from cpsched import api
from cpsched.api import (
    ConfigError,
    Workload,
    load_run,
    load_system,
    parse_system,
    save_run,
    simulate,
    summarize,
    write_log,
)
from cpsched.model.types import MISSING
from cpsched.words import duration

SYSTEM = """
name = "four"
resources = ["core", "mem"]
default_time = 60

[[nodes]]
group = "all"
count = 1
core = 4
mem = "8 GB"
"""


def _system(name="four"):
    return parse_system(SYSTEM.replace('"four"', repr(name)), where="four.toml")


def _workload(epoch=None, **columns):
    """Three jobs of the whole machine, an hour each; the fourth can never run."""
    return Workload.build(
        title="few jobs",
        job_id=["A", "B", "C", "D"],
        submit=[0, 60, 120, 180],
        units=[4, 4, 4, 5],
        request=[[1], [1], [1], [1]],
        resources=["core"],
        runtime=[3600, 3600, 3600, 1],
        requested_time=[3600, 3600, 3600, 1],
        epoch=epoch,
        **{"user": ["ann", "bob", "ann", "bob"]} | columns,
    )


def test_a_run_says_in_one_line_how_long_jobs_waited():
    """The three wait 0 s, 3,540 s and 7,080 s: 3,540 s on average."""
    run = simulate(_workload(), _system())
    mean, longest = duration(3540), duration(7080)
    assert repr(run) == f"<Run easy on four: 4 jobs, mean wait {mean}, longest {longest}>"
    run = simulate(_workload(), _system(), dispatcher="fifo", predictor="last-2")
    assert repr(run).startswith("<Run fifo with last-2 on four: 4 jobs, ")
    none = simulate(_workload().select(start=180), _system())
    assert repr(none) == "<Run easy on four: 1 job, none ran to an end>"


def test_the_leading_figures_of_a_run_are_attributes():
    run = simulate(_workload(), _system())
    told = summarize(run.schedule)
    assert run.summary == told
    assert run.figures.mean_wait == 3540
    assert run.figures.longest_wait == 7080
    assert run.figures.area_weighted_response == told["response_by_area_s"]
    assert run.figures.core_use is None  # four jobs have no steady window


class _Text(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.texts = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.texts.append(data)


def _parsed(html):
    parser = _Text()
    parser.feed(html)
    return parser


def test_a_notebook_shows_the_leading_figures_as_a_table():
    run = simulate(_workload(), _system())
    told, shown = run.summary["wait_s"]["all"], _parsed(run._repr_html_())
    assert shown.texts == [
        "easy on four: 4 jobs, 1 rejected",
        *("area-weighted response", "mean wait", "p99.9 wait", "longest wait"),
        *("mean bounded slowdown", "core use"),
        *map(duration, (7140, 3540, told["p99.9"], 7080)),
        *("1.98", "-"),
    ]
    assert set(shown.tags) == {"table", "caption", "thead", "tbody", "tr", "th", "td"}


def test_names_from_outside_are_text_in_a_notebook_and_one_line_in_a_session():
    system = _system("<script>alert(1)</script>")
    run = simulate(_workload(), system)
    assert "script" not in _parsed(run._repr_html_()).tags
    assert "script" not in _parsed(system._repr_html_()).tags
    assert "<script>alert(1)</script>" in "".join(_parsed(run._repr_html_()).texts)
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
    frame = simulate(_workload(epoch=1393632000), _system()).to_pandas()
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
    frame = simulate(_workload(), _system()).to_pandas()
    assert frame["end"].dt.total_seconds().tolist()[:3] == [3600, 7200, 10800]


def test_the_recorded_wait_stands_beside_the_simulated_one():
    recorded = _workload(recorded_start=[5, 70, MISSING, MISSING])
    frame = simulate(recorded, _system()).to_pandas()
    assert frame["recorded_wait"].tolist()[:2] == [5, 10]
    assert frame["recorded_wait"].isna().tolist() == [False, False, True, True]


def test_a_run_read_back_shows_what_the_simulated_one_did(tmp_path):
    run = simulate(_workload(epoch=1393632000), _system())
    save_run(run, tmp_path / "run")
    read = load_run(tmp_path / "run")
    assert repr(read) == repr(run).replace("<Run", "<SavedRun")
    assert read._repr_html_() == run._repr_html_()
    assert read.figures == run.figures
    assert read.to_pandas().equals(run.to_pandas())


def test_without_pandas_it_is_said_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    run = simulate(_workload(), _system())
    with pytest.raises(ConfigError, match=r"needs pandas; install it with: pip install") as error:
        run.to_pandas()
    assert "\n" not in str(error.value)


def test_a_log_and_a_system_are_named_by_their_files(tmp_path):
    """It used to be: 'str' object has no attribute 'layout'."""
    workload, system = _workload(), _system()
    write_log(workload, tmp_path / "log.csv")
    (tmp_path / "four.toml").write_text(SYSTEM)
    expected = simulate(workload, system).schedule.start
    for log in (tmp_path / "log.csv", str(tmp_path / "log.csv")):
        for named in (tmp_path / "four.toml", str(tmp_path / "four.toml"), system):
            assert (simulate(log, named).schedule.start == expected).all()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("log.swf",), "the system is missing: give the name of one"),
        ((7, "eurora"), "the workload is a int, must be the path of a log or a Workload"),
        (("{log}", 7), "the system is a int, must be a name"),
        (("nowhere.swf", "eurora"), "nowhere.swf: cannot be read"),
        (("{log}", "eurrora"), "Did you mean 'eurora'"),
        (("{log}", "nowhere.toml"), "nowhere.toml: cannot be read"),
    ],
)
def test_what_cannot_be_simulated_is_said_in_one_line(arguments, said, tmp_path):
    write_log(_workload(), tmp_path / "log.csv")
    given = [
        one.format(log=tmp_path / "log.csv") if isinstance(one, str) else one for one in arguments
    ]
    with pytest.raises((TypeError, ValueError), match=said) as error:
        simulate(*given)
    assert "\n" not in str(error.value)


def test_a_workload_says_how_many_jobs_and_when():
    assert repr(_workload()) == "<Workload few jobs: 4 jobs submitted within 3 min>"
    dated = _workload(epoch=1393632000)
    assert repr(dated).endswith(": 4 jobs submitted from 2014-03-01 to 2014-03-01>")
    assert repr(_workload().select(start=999)) == "<Workload few jobs: 0 jobs>"


def test_a_system_says_how_large_it_is():
    eurora = load_system("eurora")
    assert repr(eurora) == "<System eurora: 64 nodes, 1,024 cores, 64 gpus, 64 mics>"
    shown = _parsed(eurora._repr_html_()).texts
    assert {"gpu_bigmem", "32", "27", "5"} <= set(shown)
    assert eurora == load_system("eurora")


def test_the_usual_names_can_be_taken_from_the_package():
    """They are imported when they are used: ``cpsched --help`` is to stay quick."""
    assert all(getattr(cpsched, name) is getattr(api, name) for name in cpsched.__all__)
    with pytest.raises(AttributeError, match="no attribute 'simulat'"):
        _ = cpsched.simulat
    code = "import cpsched, sys; assert 'numpy' not in sys.modules and 'cpsched.api' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
