"""What-ifs from Python: what the command answers, as an object."""

import pytest
from notebooks import four_cores, four_jobs, parsed

import cpsched
from cpsched.cli.main import main
from cpsched.logs import write as write_log
from cpsched.report import load_results
from cpsched.report.findings import conclusions
from cpsched.systems import save as save_system
from cpsched.util import resources

CHANGES = ["scale-load 2", "half: drop user=ann; dispatcher fifo"]


def test_it_is_what_the_command_answers(tmp_path, capsys):
    """The same runs, in folders of the same names, the same tables and sentences."""
    write_log(four_jobs(), tmp_path / "few-jobs.csv")
    save_system(four_cores(), tmp_path / "four.json")
    log, system = str(tmp_path / "few-jobs.csv"), str(tmp_path / "four.json")
    scenarios = cpsched.what_if(log, CHANGES, system=system, repeat=2, out=tmp_path / "out")
    given = [part for change in CHANGES for part in ("--change", change)]
    with pytest.raises(SystemExit) as ended:
        main(["what-if", log, "--system", system, *given, "--repeat", "2", "--no-report",
              "--out", str(tmp_path / "told")])  # fmt: skip
    assert not ended.value.code, capsys.readouterr().err
    names = [sorted(p.name for p in (tmp_path / at / "runs").iterdir()) for at in ("out", "told")]
    assert names[0] == names[1]
    table = load_results(tmp_path / "told")
    assert scenarios.table.as_rows() == table.as_rows()
    # The sentence has the longest wait of the table: the mean over the repetitions.
    base, scenario, _ = table.repetitions
    assert table.get(scenario, "common_wait_max_s").base_value == pytest.approx(
        table.get(base, "wait_max_s").value
    )
    assert scenarios.finding.splitlines() == conclusions(table)


def test_a_notebook_has_the_tables_the_sentences_and_the_runs():
    scenarios = cpsched.what_if(four_jobs(), CHANGES, system=four_cores())
    assert [run[2] for run in scenarios.table.repetitions] == ["baseline", "scale-load 2", "half"]
    frame = scenarios.to_pandas()
    changed = frame[frame["metric"] == "share_that_waits_longer"]
    assert set(changed["dispatcher"]) == {"scale-load 2", "half"}
    assert [len(run.schedule.workload) for run in scenarios.runs] == [4, 8, 2]
    (text,) = parsed(scenarios._repr_html_()).texts
    assert "half: mean wait " in text
    assert "No recorded start times in the log" in text


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"changes": []}, "changes: is empty"),
        ({"changes": "drop user=eve"}, "drop:user=eve: user: no job of the log has the user 'eve'"),
        ({"changes": "add-nods count=1"}, "unknown change 'add-nods'"),
        ({"dispatcher": "eesy"}, "^dispatcher: unknown dispatcher 'eesy'"),
        ({"dispatcher": object()}, "the dispatcher <object .* is an object, must be text"),
        ({"policy": "nowhere.toml"}, "nowhere.toml"),
    ],
)
def test_what_makes_no_sense_is_one_line_before_anything_runs(more, message, tmp_path):
    given = {"changes": "scale-load 2", "out": tmp_path / "out"} | more
    changes = given.pop("changes")
    with pytest.raises((TypeError, ValueError), match=message) as error:
        cpsched.what_if(four_jobs(), changes, system=four_cores(), **given)
    assert "\n" not in str(error.value)
    assert not list(tmp_path.glob("out/runs/*"))


def test_what_a_policy_does_not_know_is_a_warning():
    policy = resources.path("policies", "site-152.toml")
    log = four_jobs(user=["ann", "bob", "ann", "bob"])
    with pytest.warns(UserWarning, match="Unknown in the policy and system file: users"):
        cpsched.what_if(log, "scale-load 0.5", system="eurora", policy=policy)
