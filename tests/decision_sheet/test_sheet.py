"""``cpsched sheet``: what stands on the page, for whom it may be, and what it refuses."""

import json
import shutil
from types import SimpleNamespace

import pytest
from notebooks import four_cores, four_jobs

from cpsched.api import RunError, Workload, compare, parse_system, save_system, what_if, write_log
from decision_sheet.content import _check, content
from decision_sheet.names import Names
from decision_sheet.page import page
from decision_sheet.sure import RULE, how_sure
from decision_sheet.words import in_words

#: Every name of somebody or something begins so.
MINE = "zq"
MACHINE = f"""
name = "{MINE}-machine"
resources = ["core"]
default_time = 3600

[[nodes]]
group = "{MINE}-nodes"
count = 1
core = 4

[[queues]]
name = "{MINE}-long"
max_time = "9:00:00"

[[queues]]
name = "{MINE}-short"
max_time = "9:00:00"
"""
CHANGES = (
    f"{MINE}-big: add-nodes group={MINE}-nodes,count=1",
    f"max-time {MINE}-short=0:30:00; set backfill=sjf",
    f"drop user={MINE}-u0",
)


def log(title=f"{MINE}-log", **columns):
    """Twelve days of four users in two queues; an hour each, four at a time."""
    number = 96
    return Workload.build(
        title=title, job_id=[str(job) for job in range(number)], resources=["core"],
        submit=[86400 * (job // 8) for job in range(number)], units=[1 + job % 4 for job in
        range(number)], request=[[1]] * number, runtime=[3600] * number, epoch=1393632000,
        requested_time=[7200] * number, user=[f"{MINE}-u{job % 4}" for job in range(number)],
        group=[f"{MINE}-a{job % 3}" for job in range(number)],
        queue=[f"{MINE}-{('long', 'short')[job % 2]}" for job in range(number)], **columns,
    )  # fmt: skip


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp(f"{MINE}-folder")
    write_log(log(), folder / f"{MINE}-log.csv")
    save_system(parse_system(MACHINE, where="machine.toml"), folder / f"{MINE}-machine.json")
    what_if(folder / f"{MINE}-log.csv", CHANGES, system=str(folder / f"{MINE}-machine.json"),
            out=folder / "out")  # fmt: skip
    return folder / "out"


def test_the_page_has_question_record_gain_loss_and_limits(study, cpsched):
    (study / "report.html").write_text("")
    code, out, err = cpsched("sheet", str(study))
    assert (code, err) == (0, "")
    assert out == f"Sheet: {study / 'sheet.html'}\n"
    text = (study / "sheet.html").read_text().replace("\N{NO-BREAK SPACE}", " ")
    for part in (
        f"zq-big: 1 more node of node group {MINE}-nodes",
        f"time limit of queue {MINE}-short: 0:30:00; backfill = sjf",
        f"without the jobs of user {MINE}-u0",
        "The log records no starts", "48 (50.0 % / ", "bought", "Jobs that ran in both",
        f"{MINE}-short: \N{MINUS SIGN}", "Users do not react", "No node fails",
        '<a href="report.html">', "96 jobs, simulated over 11.",
    ):  # fmt: skip
        assert part in text, part
    assert str(study.parent) not in text
    assert "<script" not in text
    assert "http" not in text.replace("http-equiv", "")


def test_an_anonymous_page_has_no_name_and_the_same_numbers_everywhere(study, tmp_path):
    (study / "report.html").write_text("")
    sheet = content(study, anonymous=True)
    text = page(sheet)
    assert MINE not in text
    assert "report.html" not in text
    short = dict(sheet.scenarios)["B"].partition("queue ")[2][0]
    of_queues = [one for one in sheet.payers if one.kind == "queue"]
    assert {one.gains.partition(":")[0] for one in of_queues} == {f"queue {short}"}
    assert all(f"account {name}" not in text for name in ("zq-a0", "zq-a1"))


def test_the_page_is_data_for_programs_too(study, cpsched):
    code, out, _ = cpsched("sheet", str(study), "--json", "--anonymous")
    told = json.loads(out)
    assert (code, told["schema"], told["file"]) == (0, "cpsched.sheet/1", str(study / "sheet.html"))
    assert [letter for letter, _ in told["scenarios"]] == ["A", "B", "C"]
    assert MINE not in json.dumps({key: one for key, one in told.items() if key != "file"})


def test_equal_studies_have_equal_pages(study, tmp_path):
    """In another folder, too; elsewhere than in it the report is not named."""
    shutil.copytree(study, tmp_path / "other")
    assert page(content(tmp_path / "other")) == page(content(study))
    assert not content(study).elsewhere().report


def test_a_baseline_that_is_not_what_happened_is_said_first_and_nothing_is_praised(tmp_path):
    recorded = log(recorded_start=[86400 * (job // 8) + 40_000 for job in range(96)])
    what_if(recorded, CHANGES[0], system=parse_system(MACHINE, where="m"), out=tmp_path / "out")
    sheet = content(tmp_path / "out")
    assert sheet.record[0].startswith("The baseline does not reproduce the record (")
    assert sheet.finding == ""
    assert dict(sheet.figures)["How sure"] == ("", "baseless")


@pytest.mark.parametrize(("change", "record", "loses", "word"), [
    ({}, "closely", False, "sure"), ({}, "roughly", False, "likely"), ({}, "", False, "likely"),
    ({}, "not", False, "baseless"), ({}, "closely", True, "bought"),
    ({"verdict": "unclear"}, "closely", False, "open"),
    ({"verdict": "lower (this log)"}, "closely", False, "likely"),
    ({"verdict": "one run"}, "closely", False, "unknown"),
    ({"difference_low": None, "verdict": "one run"}, "closely", False, "unknown"),
    ({"difference": 0.0, "shorter": 0.0, "longer": 0.0}, "closely", False, "none"),
])  # fmt: skip
def test_how_sure_an_answer_is(change, record, loses, word):
    row = {"difference": -60.0, "difference_low": -90.0, "shorter": 0.5, "longer": 0.0,
           "verdict": "lower"}  # fmt: skip
    assert how_sure(row | change, record, loses=loses) == word
    assert word in RULE


@pytest.mark.parametrize(("run", "label", "said", "hidden"), [
    ({"dispatcher_spec": "plan"}, "dispatcher plan", "scheduled by plan", None),
    ({"dispatcher_spec": "slurm:policy=/home/zq/a.toml"}, "set qos.zq.MaxJobsPU=4",
     "other values in the site's policy: qos.zq.MaxJobsPU=4", "other values in the site's policy"),
    ({"predictor": "gbm-log:model=/home/zq/m.npz"}, "predictor /home/zq/m.npz",
     "runtimes estimated by gbm-log with model a file", None),
    ({"changes": ("outage:end=90,nodes=zq[1-4],start=30",)}, "outage",
     "nodes zq[1-4] down for 1 min", "some nodes down for 1 min"),
    ({"changes": ("keep:gpu=yes,queue=zq",)}, "keep", "only the jobs of gpu yes and queue zq", ...),
    ({"changes": ("theirs:file=/home/zq/x",)}, "zq: theirs", "zq: theirs: theirs with file a file",
     "theirs"),
])  # fmt: skip
def test_changes_are_words_without_paths(run, label, said, hidden):
    base = SimpleNamespace(
        dispatcher_spec="slurm:policy=/x.toml", predictor="requested", changes=()
    )
    one = SimpleNamespace(**vars(base) | run)
    assert in_words(one, base, label, Names(anonymous=False)) == said
    if hidden is not ...:
        assert in_words(one, base, label, Names(anonymous=True)) == (hidden or said)


def test_what_is_no_finished_what_if_is_one_line(tmp_path, cpsched):
    compare(four_jobs(), four_cores(), dispatchers=["easy", "fifo"], out=tmp_path / "compared")
    what_if(four_jobs(), "scale-load 2", system=four_cores(), out=tmp_path / "alone")
    shutil.copytree(tmp_path / "alone", tmp_path / "without")
    about = json.loads((tmp_path / "alone" / "study.json").read_text())
    base, scenario = (tmp_path / "alone" / "runs" / one["folder"] for one in about["runs"])
    shutil.rmtree(scenario)
    shutil.rmtree(tmp_path / "without" / "runs" / base.name)
    never = four_jobs().select(start=180)
    what_if(never, "scale-load 2", system=four_cores(), out=tmp_path / "rejected")
    (tmp_path / "empty").mkdir()
    for folder, said in {
        "nowhere": "is not a folder; name one made by cpsched what-if --out",
        "empty": "is not a run and holds none",
        "compared": "is no what-if; a sheet is made of what cpsched what-if --out made",
        "alone": "has its baseline alone: no scenario has finished",
        "without": "has no finished run of its baseline; run the what-if again",
        "rejected": "no job ran in the baseline and in a scenario, so nothing differs",
    }.items():
        code, out, err = cpsched("sheet", str(tmp_path / folder))
        assert code, folder
        assert (out, err.count("\n")) == ("", 1), err
        assert said in err
    assert not (tmp_path / "compared" / "sheet.html").exists()


@pytest.mark.parametrize(("baseline", "places", "predictors", "said"), [
    (None, "aa", "xx", "is no what-if"), ("easy", "ab", "xx", "is of several logs or machines"),
    ("easy", "aaa", "xxy", "has one scenario with several predictors"),
])  # fmt: skip
def test_studies_of_something_else_are_refused(baseline, places, predictors, said):
    runs = [
        SimpleNamespace(dispatcher=("easy", "other", "other")[at], place=place,
                        who=(("easy", "other", "other")[at], predictor))
        for at, (place, predictor) in enumerate(zip(places, predictors, strict=True))
    ]  # fmt: skip
    results = SimpleNamespace(
        by_group=True, baseline=SimpleNamespace(dispatcher=baseline), runs=runs
    )
    with pytest.raises(RunError, match=said):
        _check("DIR", SimpleNamespace(results=results, gains=[1]))


def test_failed_runs_and_scenarios_that_find_no_room_are_counted(tmp_path):
    what_if(four_jobs(), [f"scale-load {n}" for n in range(2, 9)], system=four_cores(),
            out=tmp_path / "out")  # fmt: skip
    about = json.loads((tmp_path / "out" / "study.json").read_text())
    shutil.rmtree(tmp_path / "out" / "runs" / about["runs"][-1]["folder"])
    sheet = content(tmp_path / "out")
    assert [letter for letter, _ in sheet.scenarios] == list("ABCDE")
    assert [note.partition(" of")[0] for note in sheet.notes[:1]] == ["1 run"]
    assert sheet.notes[1].startswith("1 more scenario are in the tables")
