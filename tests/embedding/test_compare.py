"""Comparisons from Python: what the command compares, and finished runs."""

import gc

import pytest
from notebooks import four_cores, four_jobs, parsed

from cpsched import start_by
from cpsched.cli.main import main
from cpsched.dispatch.allocators import make_allocator
from cpsched.dispatch.contract import Dispatcher
from cpsched.errors import ConfigError, RunError
from cpsched.logs import write as write_log
from cpsched.report import compare, compare_runs, load_results
from cpsched.simulation.simulate import Settings, simulate
from cpsched.systems import load as load_system
from cpsched.systems import save as save_system


class WidestFirst(Dispatcher):
    """The jobs with the most units first."""

    name = "widest-first"

    def __init__(self):
        self.allocator = make_allocator("first-fit")

    def reset(self, system, seed):
        self.allocator.reset(system)

    def decide(self, view):
        return start_by(view, (-view.waiting.units).argsort(kind="stable"), self.allocator)


def test_it_compares_what_the_command_compares(tmp_path, capsys):
    """The same runs, in folders of the same names, and the same tables."""
    write_log(four_jobs(), tmp_path / "few-jobs.csv")
    save_system(four_cores(), tmp_path / "four.json")
    log, system = str(tmp_path / "few-jobs.csv"), str(tmp_path / "four.json")
    comparison = compare(
        log, system, dispatchers=["easy", "fifo"], repeat=2, baseline="fifo", out=tmp_path / "out"
    )
    options = ["-d", "easy", "-d", "fifo", "--repeat", "2", "--baseline", "fifo", "--no-report"]
    with pytest.raises(SystemExit) as ended:
        main(["compare", log, "--system", system, *options, "--out", str(tmp_path / "told")])
    assert not ended.value.code, capsys.readouterr().err
    names = [sorted(p.name for p in (tmp_path / at / "runs").iterdir()) for at in ("out", "told")]
    assert names[0] == names[1]
    table = load_results(tmp_path / "told")
    assert comparison.table.as_rows() == table.as_rows()
    assert comparison.table.study.baseline == table.study.baseline


def test_a_workload_and_a_system_are_taken_as_they_are():
    comparison = compare(four_jobs(), four_cores(), dispatchers=["easy", "fifo"], predictors="last")
    assert repr(comparison) == "<Comparison of 2 runs: 2 dispatchers (few-jobs on four)>"
    expected = simulate(four_jobs(), four_cores(), predictor="last")
    first = comparison.runs[0]
    assert (first.schedule.start == expected.schedule.start).all()
    assert first.schedule.system == four_cores()
    assert first.schedule.workload.digest() == expected.schedule.workload.digest()


def test_runs_that_are_there_are_kept(tmp_path):
    """Objects are known by their content, so that the second call finds the first one's runs."""
    first = compare(four_jobs(), four_cores(), out=tmp_path / "out")
    mark = first.runs[0].folder / "timing.json"
    before = mark.stat().st_mtime_ns
    again = compare(four_jobs(), four_cores(), dispatchers=["easy", "fifo"], out=tmp_path / "out")
    assert len(again.runs) == 2
    assert mark.stat().st_mtime_ns == before


def test_settings_count_for_every_run():
    comparison = compare(four_jobs(), four_cores(), settings=Settings(overrun="extend"))
    assert comparison.runs[0].settings.overrun == "extend"


def test_several_systems_are_compared_with_one():
    comparison = compare(
        four_jobs(), [four_cores("small"), four_cores("other", cores=8)], baseline_system="small"
    )
    assert [run[1] for run in comparison.table.baselines] == ["small"]


def test_a_folder_of_its_own_goes_with_the_comparison():
    comparison = compare(four_jobs(), four_cores())
    folder = comparison.folder
    assert (folder / "study.json").is_file()
    del comparison
    gc.collect()
    assert not folder.exists()


def test_finished_runs_are_compared_with_a_dispatcher_of_ones_own():
    runs = [
        simulate(four_jobs(), four_cores(), dispatcher=dispatcher)
        for dispatcher in ("easy", WidestFirst())
    ]
    comparison = compare_runs(runs)
    assert [run[2] for run in comparison.table.repetitions] == ["easy", "widest-first"]
    assert comparison.table.study.baseline.dispatcher == "easy"
    other = compare_runs({"mine": runs[1], "plain": runs[0]}, baseline="plain")
    assert [run[2] for run in other.table.repetitions] == ["mine", "plain"]
    assert other.table.study.baseline.dispatcher == "plain"


def test_runs_that_differ_in_the_predictor_alone_are_compared():
    """There was no finding: each was compared with the dispatcher's run of its own predictor."""
    runs = [
        simulate(four_jobs(), four_cores(), predictor=predictor)
        for predictor in ("requested", "last")
    ]
    for comparison in (
        compare_runs(runs),
        compare(four_jobs(), four_cores(), predictors=["requested", "last"]),
    ):
        assert comparison.finding
        assert {run[3] for run in comparison.table.baselines} == {"requested"}


def test_a_comparison_shows_its_finding_and_its_tables():
    comparison = compare(four_jobs(), four_cores(), dispatchers=["easy", "fifo"])
    shown = parsed(comparison._repr_html_())
    assert "Use compare(..., repeat=5)." in comparison.finding
    (text,) = shown.texts
    assert text.startswith(f"{comparison.finding}\n\nfew-jobs on four\n")
    assert "Runtime estimate: requested time." in text
    assert "easy (baseline)" in text


def test_results_as_a_data_frame_have_the_columns_of_their_file():
    comparison = compare(four_jobs(), four_cores(), dispatchers=["easy", "fifo"])
    frame = comparison.to_pandas()
    assert list(frame.columns) == list(comparison.table.as_rows()[0])
    assert frame[frame["metric"] == "wait_max_s"].query("jobs == 'all'")["value"].tolist() == [
        7080, 7080,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"log": 7}, "the log is a int, must be the path of a log or a Workload"),
        ({"log": "nowhere.swf"}, "nowhere.swf: no such file"),
        ({"system": 7}, "the system is a int, must be a name"),
        ({"system": [7]}, "the system is a int, must be a name"),
        ({"system": "eurrora"}, "^system: unknown system 'eurrora'"),
        ({"dispatchers": ["eesy"]}, "^dispatchers: unknown dispatcher 'eesy'"),
        ({"dispatchers": [WidestFirst()]}, "the dispatcher 'widest-first' is an object"),
        ({"baseline": "sjf"}, "^baseline: is 'sjf', must be one of: easy"),
        ({"repeat": 0}, "^repeat: is 0"),
    ],
)
def test_what_cannot_be_compared_is_said_in_one_line(change, message):
    with pytest.raises((TypeError, ValueError), match=message) as error:
        compare(**{"log": four_jobs(), "system": four_cores()} | change)
    assert "\n" not in str(error.value)


def test_runs_that_cannot_be_compared_are_said_in_one_line(tmp_path):
    run = simulate(four_jobs(), four_cores())
    with pytest.raises(RunError, match="no runs to compare"):
        compare_runs([])
    with pytest.raises(TypeError, match="run 0 is a str, must be a result of simulate"):
        compare_runs(["easy"])
    with pytest.raises(RunError, match="are both few jobs / four / easy / requested"):
        compare_runs([run, run])


def test_a_system_is_written_and_read_back(tmp_path):
    """Also that of a run's folder."""
    eurora = load_system("eurora")
    save_system(eurora, tmp_path / "eurora.json")
    assert load_system(tmp_path / "eurora.json") == eurora
    (tmp_path / "bad.json").write_text('{"nodes": 7}')
    with pytest.raises(ConfigError, match="bad.json: is not the system of a run"):
        load_system(tmp_path / "bad.json")
    with pytest.raises(ConfigError, match="must end in .json"):
        save_system(eurora, tmp_path / "eurora.toml")
