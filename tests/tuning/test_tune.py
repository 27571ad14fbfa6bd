"""``cpsched tune``: what is chosen on early jobs, and reported on later ones."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from cpsched import logs
from cpsched import tune as tune_log
from cpsched.errors import ConfigError, RunError
from cpsched.model.workload import Workload
from cpsched.slurm.dispatch import policy_file
from cpsched.study import LabelledSpec
from cpsched.study.changes import changed_system
from cpsched.study.log_study import study_of_log
from cpsched.study.scenarios import Scenario
from cpsched.tuning.api import site_of
from cpsched.tuning.measure import Broken, Limits, Measuring
from cpsched.tuning.parts import Window
from cpsched.tuning.proposal import sacctmgr_commands, slurm_diff
from cpsched.tuning.site import Site
from cpsched.tuning.text import _constraints, answer_lines, changes_text, front_text, tables
from cpsched.tuning.tune import PROPOSED, Contribution, Tuned, tune

pytest.importorskip("optuna")

DAY = 86400
POLICY = """
[slurm]
PriorityWeightAge = 1000

[SchedulerParameters]
bf_window = 1440
bf_continue = true

[[partition]]
PartitionName = "short"

[[qos]]
Name = "gpu"
MaxJobsPU = 4
"""


#: A system without queues.
SYSTEM = SimpleNamespace(queues={})


def log_of(folder, name="log.parquet", seed=1, days=30, per_day=80, longest=18_000):
    """Write a log whose short jobs wait behind long ones; return its path."""
    random = np.random.default_rng(seed)
    number = days * per_day
    submit = np.sort(random.integers(0, days * DAY, number))
    runtime = np.where(random.random(number) < 0.88, 300, random.integers(3600, 18_000, number))
    runtime = np.minimum(runtime, longest)
    workload = Workload.build(
        title="jobs", job_id=[str(job) for job in range(number)], resources=["core"],
        submit=submit.tolist(), units=random.integers(1, 4, number).tolist(),
        request=[[1]] * number, runtime=runtime.tolist(),
        requested_time=(2 * runtime).tolist(), user=[f"u{job % 3}" for job in range(number)],
        group=[f"a{job % 2}" for job in range(number)],
    )  # fmt: skip
    path = folder / name
    logs.write(workload, path)
    return path


@pytest.fixture(autouse=True)
def few_random_settings(monkeypatch):
    """Try four random settings, not twenty."""
    for module in ("search", "tune"):
        monkeypatch.setattr(f"cpsched.tuning.{module}.RANDOM", 4)


def tuned(log, folder, trials=6, **more):
    site = site_of(log, "four.toml")
    space = site.space.selected((), ())
    return tune(
        site, space, folder, trials=trials, repeat=2, limits=Limits(wait=3, longest=3), **more
    )


@pytest.mark.slow
def test_the_choice_does_not_depend_on_the_jobs_it_is_reported_on(four_cores):
    """Other jobs after the validation part: other results, and the same choice."""
    log = log_of(four_cores)
    first = tuned(log, four_cores / "out")
    assert first.choice
    workload = logs.read(log)
    late = workload.submit >= first.parts.test.start
    changed = workload.with_columns(runtime=np.where(late, 60, workload.runtime))
    logs.write(changed, four_cores / "other.parquet")
    other = tuned(four_cores / "other.parquet", four_cores / "other")
    assert other.choice == first.choice
    assert [trial.choice for trial in other.trials] == [trial.choice for trial in first.trials]
    assert other.results[PROPOSED].wait.value != first.results[PROPOSED].wait.value


class _StoppedError(Exception):
    pass


@pytest.mark.slow
def test_a_search_that_is_stopped_continues_to_the_same_result(four_cores):
    log = log_of(four_cores)
    folder = four_cores / "out"

    def stop_at(stage, number):
        def progress(name, done, _):
            if (name, done) == (stage, number):
                raise _StoppedError

        return progress

    for place in (("search", 4), ("search", 8), ("later jobs", 0)):
        with pytest.raises(_StoppedError):
            tuned(log, folder, progress=stop_at(*place))
    resumed = tuned(log, folder).as_data()
    whole = tuned(log, four_cores / "whole").as_data()
    assert json.dumps(resumed) == json.dumps(whole)


def test_settings_that_cannot_be_simulated_have_no_result(four_cores):
    """A topology needs switches, and the system has none."""
    site = site_of(log_of(four_cores, days=1), "four.toml")
    window = Window("all", 0, 0, DAY, 80)

    def scenario_of(label, choice):
        return Scenario(label=label, dispatcher=choice["dispatcher"])

    measuring = Measuring(site.study, scenario_of, four_cores / "out", Limits())
    choices = [{"dispatcher": name} for name in ("slurm:topology=tree", "fifo")]
    results = measuring.measure(choices, window)
    assert [item.choice["dispatcher"] for item in results] == ["fifo"]
    own = (LabelledSpec("own", choices[0]["dispatcher"]),)
    broken_site = replace(site.study, dispatchers=own)
    measuring = Measuring(broken_site, scenario_of, four_cores / "own", Limits())
    with pytest.raises(RunError, match="current settings cannot be simulated: .*switches"):
        measuring.waits(window)
    with pytest.raises(RunError, match="current settings cannot be simulated: .*switches"):
        measuring.measure(choices[1:], window)


@pytest.mark.slow
def test_nothing_is_better_where_no_job_waits(four_cores):
    result = tuned(log_of(four_cores, longest=1), four_cores / "out")
    assert all(trial.windows[-1].ratio in (1.0, float("inf")) for trial in result.trials)
    assert (result.choice, result.front, result.results) == ({}, [], {})
    assert "Keep the current settings." in " ".join(answer_lines(result))


def test_the_front_has_the_lowest_mean_wait_for_each_longest_wait():
    waits = {"a": (0.5, 1.2), "b": (0.6, 1.0), "c": (0.7, 1.1), "d": (0.8, 0.9), "e": (1.1, 0.5)}
    trials = [
        SimpleNamespace(
            kept=SimpleNamespace(choice={"x": name}, ratio=ratio, longest_ratio=longest)
        )
        for name, (ratio, longest) in waits.items()
    ]
    front = Tuned.front.fget(SimpleNamespace(trials=trials))
    assert [item.choice["x"] for item in front] == ["a", "b", "d"]


def test_a_change_of_slurm_conf_is_lines_to_type():
    policy = policy_file.parse(POLICY)
    choice = {
        "PriorityWeightAge": "0",
        "bf_window": "2880",
        "partition.short.PriorityJobFactor": "10",
    }
    assert slurm_diff(policy, choice, SYSTEM).splitlines() == [
        "-PriorityWeightAge=1000",
        "+PriorityWeightAge=0",
        "-SchedulerParameters=bf_continue,bf_window=1440",
        "+SchedulerParameters=bf_continue,bf_window=2880",
        "+PartitionName=short PriorityJobFactor=10    # in the line of this partition",
    ]
    assert slurm_diff(policy, {}, SYSTEM) == ""


def test_changes_of_a_partition_are_one_line():
    choice = {
        "priority-tier short": "2",
        "max-time long": "86400",
        "partition.short.PriorityJobFactor": "10",
        "default-time short": "00:30:00",
    }
    assert slurm_diff(policy_file.parse(POLICY), choice, SYSTEM).splitlines() == [
        "+PartitionName=short PriorityTier=2 PriorityJobFactor=10 DefaultTime=00:30:00"
        "    # in the line of this partition",
        "+PartitionName=long MaxTime=1-00:00:00    # in the line of this partition",
    ]


def test_a_default_time_is_at_most_a_limit_that_is_changed_with_it(four_cores):
    """In the lines to type as in the simulated system."""
    queues = '[[queues]]\nname = "short"\ndefault = true\ndefault_time = 3600\nmax_time = 7200\n'
    file, policy = four_cores / "four.toml", four_cores / "site.policy.toml"
    file.write_text(file.read_text() + queues)
    policy.write_text(POLICY)
    runs = {"systems": ["four.toml"], "dispatchers": [f"slurm:policy={policy}"]}
    site = Site(study_of_log(log_of(four_cores, days=1), runs, str))
    choice = {"max-time short": "01:00:00", "default-time short": "02:00:00", "bf_window": "720"}
    made = site.scenario_of("both", choice)
    assert made.settings == ("bf_window=720",)
    queue = changed_system(site.fitted.system, made.changes).queues["short"]
    assert (queue.max_time, queue.default_time) == (3600, 3600)
    system = site.fitted.system
    assert "MaxTime=01:00:00 DefaultTime=01:00:00 " in slurm_diff(site.policy, choice, system)
    lower = {"max-time short": "00:30:00"}
    queue = changed_system(system, site.scenario_of("lower", lower).changes).queues["short"]
    assert (queue.max_time, queue.default_time) == (1800, 1800)
    assert "MaxTime=00:30:00 DefaultTime=00:30:00 " in slurm_diff(site.policy, lower, system)
    higher = slurm_diff(site.policy, {"max-time short": "04:00:00"}, system)
    assert "MaxTime=04:00:00" in higher
    assert "DefaultTime" not in higher


def test_waits_above_a_limit_without_confidence_are_named():
    above = [Broken(what=f"mean wait of account a{at}", ratio=1.5, limit=1.1) for at in range(6)]
    few = tuple((f"account a{at}", 99 - at) for at in range(7))
    lines = list(_constraints(SimpleNamespace(broken=(), unclear=tuple(above), unchecked=few)))
    assert lines[0].startswith("All constraints are kept on later jobs: the longest and the p99.9")
    assert " Too few jobs for a constraint: account a0 (99), account a1 (98), " in lines[0]
    assert lines[0].endswith("account a4 (95), 2 more groups.")
    assert lines[1].startswith("Above their limits, but not with confidence: mean wait of account")
    assert lines[1].endswith("a4 1.50 and 1 more.")
    lines = list(_constraints(SimpleNamespace(broken=tuple(above), unclear=())))
    assert lines[0].startswith("Broken on later jobs: mean wait of account a0 1.50 times")
    assert lines[-1] == "1 more constraint is broken on later jobs."


def outcome(later, random=None, broken=()):
    """Return an outcome whose mean wait is 0.7 and 0.8 of the site's before the later jobs."""

    def measured_at(ratio):
        row = SimpleNamespace(
            run="changed", days=None, ratio=ratio, value=ratio * 7200, base_value=7200.0, interval=None, verdict="one run",
            definition=SimpleNamespace(title="mean wait"), is_of_log=False,
        )  # fmt: skip
        return SimpleNamespace(
            ratio=ratio, wait=row, longest=row, broken=broken, unclear=(), unchecked=()
        )

    results = {PROPOSED: measured_at(later)}
    if random:
        results["best of 20 random"] = measured_at(random)
    return Tuned(
        parts=None, windows=(), choice={"x": "1"}, trials=(), finalists=(),
        searched=measured_at(0.7), validated=measured_at(0.8), results=results,
        against_random=None, table=None, contributions=(), defaults=None,
    )  # fmt: skip


def test_the_answer_says_what_is_left_of_the_gain():
    lines = list(answer_lines(outcome(0.9)))
    assert "They are not significantly better on later jobs. Keep the current settings." in lines
    assert "No group of later jobs waits significantly longer." in lines
    waits = {"-30": "1 h 24 min", "-20": "1 h 36 min", "-10": "1 h 48 min"}
    gains = [f"{gain} % (2 h to {wait})" for gain, wait in waits.items()]
    part = "Mean wait on the search part {}, on the validation part {}, on later jobs {}.".format(
        *gains
    )
    assert any(line.startswith(f"{part} The gain is smaller on later jobs") for line in lines)
    assert any(line.startswith("None of the 20 random combinations is better") for line in lines)
    assert not any("smaller" in line for line in answer_lines(outcome(0.6)))
    recommended = "The proposed settings are recommended."
    assert recommended not in lines
    better = outcome(0.6)
    better.results[PROPOSED].wait.verdict = "lower"
    assert recommended in answer_lines(better)
    over_days = "On a system whose queue never empties for weeks they are too narrow."
    assert not any(over_days in line for line in answer_lines(better))
    vars(better.results[PROPOSED].wait).update(interval=(0.5, 0.7), days=20)
    assert any(over_days in line for line in answer_lines(better))
    assert not any(line.startswith("None of the 20") for line in answer_lines(outcome(0.6, 0.8)))
    rule = Broken(what="1 % of the jobs never start instead of 0 %", ratio=float("inf"), limit=1)
    lines = list(answer_lines(outcome(0.6, broken=(rule,))))
    assert "Broken on later jobs: 1 % of the jobs never start instead of 0 %." in lines
    assert "They break a constraint on later jobs. Keep the current settings." in lines


@pytest.mark.parametrize(
    ("verdict", "broken", "better"),
    [
        ("lower", (), True),
        ("lower", ("it",), False),
        ("lower (this log)", (), False),
        ("unclear", (), False),
    ],
)
def test_what_to_type_is_marked_if_settings_are_not_better(verdict, broken, better):
    proposed = SimpleNamespace(wait=SimpleNamespace(verdict=verdict), broken=broken)
    result = Tuned(
        parts=None, windows=(), choice={"bf_window": "2880"}, trials=(), finalists=(), searched=None,
        validated=None, results={PROPOSED: proposed}, against_random=None,
        table=None, contributions=(), defaults={},
    )  # fmt: skip
    fitted = SimpleNamespace(system=SYSTEM)
    site = SimpleNamespace(policy=policy_file.parse(POLICY), fitted=fitted)
    ((title, text),) = tables(result, site, 100)
    assert title.startswith("What to type")
    assert title.endswith("(not recommended)") != better
    assert "bf_window=2880" in text
    assert not list(tables(result, SimpleNamespace(policy=None), 100))


@pytest.mark.parametrize(
    ("grade", "kind", "recommended"),
    [("poor", "all", False), ("poor", "queue", True), ("moderate", "all", True)],
)
def test_nothing_is_recommended_if_the_simulation_agrees_poorly_with_the_log(
    grade, kind, recommended
):
    table = SimpleNamespace(
        record=({"grade": grade, "kind": kind},), study=SimpleNamespace(runs=()), cases={},
        group_rows=lambda run: [],
    )  # fmt: skip
    better = replace(outcome(0.6), table=table)
    better.results[PROPOSED].wait.verdict = "lower"
    lines = list(answer_lines(better))
    assert ("The proposed settings are recommended." in lines) == recommended
    assert any("Improve the site's files before" in line for line in lines) != recommended
    assert better.is_better
    assert better.is_recommended == recommended


def test_the_changes_of_parameters_are_explained():
    changes = [
        Contribution(
            key=key, before="0", after="1", alone=None, without=(0.98, 1.0), together=(0.8, 1.1)
        )
        for key in ("bf_min_age_reserve", "qos.gpu.Priority")
    ]
    text = changes_text(SimpleNamespace(contributions=changes), 80)
    assert "failed" in text
    assert text.splitlines()[-1].startswith("bf_min_age_reserve: seconds")


def test_the_front_says_what_is_left_on_the_validation_part():
    def item(name, ratio, broken=()):
        return SimpleNamespace(choice={"x": name}, ratio=ratio, longest_ratio=1.0, broken=broken)

    tuned = SimpleNamespace(
        front=[item("1", 0.5), item("2", 0.6), item("3", 0.7)],
        finalists=(item("1", 0.9, broken=("it",)), item("2", 0.8)),
        searched=item("2", 0.6), validated=item("2", 0.8),
    )  # fmt: skip
    rows = [line.split() for line in front_text(tuned, 80).splitlines()[-4:]]
    assert rows == [
        ["(proposed)", "0.60", "1.00", "0.80", "1.00", "0"],
        ["x=1", "0.50", "1.00", "0.90", "1.00", "1"],
        ["x=2", "0.60", "1.00", "0.80", "1.00", "0"],
        ["x=3", "0.70", "1.00", "not", "run"],
    ]


@pytest.mark.parametrize(("verdict", "not_better"), [("lower", False), ("unclear", True)])
def test_an_answer_says_if_the_search_is_not_better_than_random_settings(verdict, not_better):
    against = SimpleNamespace(
        days=None, ratio=0.99, value=1.0, base_value=1.0, interval=(0.9, 1.1), verdict=verdict,
        definition=SimpleNamespace(title="mean wait"), is_of_log=False,
    )  # fmt: skip
    lines = list(answer_lines(replace(outcome(0.9), against_random=against)))
    assert lines[-1].endswith("not significantly better than 20 random combinations.") == not_better


def test_an_answer_names_slurms_defaults_if_they_are_the_current_settings():
    line = "The current settings are Slurm's defaults, as far as they are searched."
    for defaults, named in (({}, True), ({"bf_window": "1440"}, False), (None, False)):
        lines = list(answer_lines(replace(outcome(0.9), defaults=defaults)))
        assert (line in lines) == named


def test_changes_of_qos_are_commands():
    policy = policy_file.parse(f'{POLICY}MaxTRESPU = "cpu=64,gres/gpu=4"\n')
    choice = {"qos.gpu.MaxJobsPU": "", "qos.gpu.Priority": "10", "bf_window": "2880"}
    command = "sacctmgr -i modify qos gpu set"
    assert sacctmgr_commands(policy, choice) == [f"{command} MaxJobsPU=-1 Priority=10"]
    removed = sacctmgr_commands(policy, {"qos.gpu.MaxTRESPU": ""})
    assert removed == [f"{command} MaxTRESPU=cpu=-1,gres/gpu=-1"]


@pytest.mark.parametrize(
    ("parameters", "keys", "defaults"),
    [
        ('PriorityFlags = "MAX_TRES"', {"PriorityFlags"}, {"PriorityFlags": ""}),
        ('PriorityMaxAge = "UNLIMITED"', {"PriorityMaxAge"}, {"PriorityMaxAge": "7-00:00:00"}),
        ('PriorityMaxAge = "14-0"', {"PriorityMaxAge"}, {"PriorityMaxAge": "7-00:00:00"}),
    ],
)
def test_slurms_defaults_are_values_that_can_be_simulated(four_cores, parameters, keys, defaults):
    (four_cores / "policy.toml").write_text(
        f'[slurm]\nPriorityType = "priority/multifactor"\n{parameters}\n'
        "PriorityWeightAge = 10\nPriorityWeightJobSize = 10\n"
    )
    site = site_of(log_of(four_cores, days=1), "four.toml", "policy.toml")
    space = site.space.selected(tuple(keys), ())
    assert site.defaults(space) == defaults
    assert site.scenario_of("defaults", site.defaults(space)).settings
    values = {value for item in space.settings.values() for value in item.values if ":" in value}
    assert not any(len(value) > 22 for value in values)


@pytest.mark.slow
def test_a_search_with_a_policy_has_all_baselines_and_the_same_result_with_two_workers(four_cores):
    (four_cores / "policy.toml").write_text(
        '[slurm]\nPriorityType = "priority/multifactor"\n[SchedulerParameters]\nbf_interval = 300\n'
    )
    log = log_of(four_cores)
    results, steps = [], []
    for workers in (1, 2):
        site = site_of(log, "four.toml", "policy.toml")
        space = site.space.selected(("bf_interval", "PriorityWeightJobSize"), ())
        limits = Limits(wait=9, longest=9)
        folder = four_cores / f"out{workers}"
        results.append(
            tune(
                site, space, folder, trials=4, repeat=2, limits=limits, workers=workers,
                progress=lambda *step: steps.append(step),
            )
        )  # fmt: skip
    assert {step for step, ended, runs in steps if ended == runs} == {
        "validation", "contributions", "later jobs"
    }  # fmt: skip
    one, two = (json.dumps(result.as_data()) for result in results)
    assert one == two
    assert results[0].results.keys() >= {PROPOSED, "Slurm defaults", "best of 20 random"}
    assert results[0].front
    assert {item.key for item in results[0].contributions} == set(results[0].choice)
    assert "all changes" in changes_text(results[0], 100)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sampler": "tpee"}, "sampler: unknown sampler 'tpee'"),
        ({"repeat": 1}, "repeat"),
        ({"trials": 0}, "trials"),
        ({"limits": Limits(wait=0.5)}, "wait factor: 0.5 must be a factor from 1 to 100"),
    ],
)
def test_invalid_options_are_refused(four_cores, options, message):
    site = site_of(log_of(four_cores, days=1), "four.toml")
    with pytest.raises(ConfigError, match=message):
        tune(site, site.space, four_cores / "out", **options)


def test_a_file_allows_its_settings_and_forbid_leaves_some_out(four_cores):
    site = site_of(log_of(four_cores, days=1), "four.toml")
    path = four_cores / "space.toml"
    path.write_text('[settings]\norder = ["sjf"]\nbackfill = ["sjf"]\n')
    space = site.searched((), (), path)
    assert list(space.settings) == ["order", "backfill"]
    # The site's dispatcher is easy, whose backfill may change.
    assert space.changed({"backfill": "sjf"}) == {"backfill": "sjf"}
    assert list(site.searched((), ("back*",), path).settings) == ["order"]
    assert list(site.searched(("allocator",), (), None).settings) == ["allocator"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("bf_window = ['abc']", "bf_window: 'abc': is not a whole number"),
        ("bf_window = [99999]", "bf_window: '99999': must be a whole number from 1 to 43200"),
        ("'qos.gpu.MaxJobsPU' = [-3]", "qos.gpu.MaxJobsPU: '-3': "),
    ],
)
def test_values_that_a_setting_cannot_have_are_refused_before_the_search(four_cores, line, message):
    (four_cores / "policy.toml").write_text(POLICY)
    (four_cores / "space.toml").write_text(f"[settings]\n{line}\n")
    site = site_of(log_of(four_cores, days=1), "four.toml", "policy.toml")
    with pytest.raises(ConfigError, match=message):
        site.searched((), (), four_cores / "space.toml")


def test_the_sites_value_in_other_words_is_no_other_value(four_cores):
    (four_cores / "policy.toml").write_text(POLICY)
    site = site_of(log_of(four_cores, days=1), "four.toml", "policy.toml")
    path = four_cores / "space.toml"
    path.write_text("[settings]\nPriorityMaxAge = ['7-0', '14-0']\nbf_window = ['1440 ']\n")
    space = site.searched((), (), path)
    assert {key: item.values for key, item in space.settings.items()} == {
        "PriorityMaxAge": ("14-0", "7-00:00:00")
    }
    path.write_text("[settings]\nPriorityMaxAge = ['7-0']\n")
    with pytest.raises(ConfigError, match="no other values than the site's"):
        site.searched((), (), path)


def test_a_time_limit_in_other_words_is_no_other_value(four_cores):
    queue = '[[queues]]\nname = "short"\nmax_time = 7200\n'
    (four_cores / "four.toml").write_text((four_cores / "four.toml").read_text() + queue)
    (four_cores / "policy.toml").write_text(POLICY)
    site = site_of(log_of(four_cores, days=1), "four.toml", "policy.toml")
    path = four_cores / "space.toml"
    path.write_text("[settings]\n'max-time short' = ['2:00:00', '1:00:00', 7200]\n")
    (setting,) = site.searched((), (), path).settings.values()
    assert setting.values == ("1:00:00", "02:00:00")


def test_slurms_flags_are_defaults_whatever_the_weights(four_cores):
    text = '[slurm]\nPriorityType = "priority/multifactor"\nPriorityFlags = "MAX_TRES"\n'
    (four_cores / "policy.toml").write_text(f"{text}PriorityWeightJobSize = 10\n")
    site = site_of(log_of(four_cores, days=1), "four.toml", "policy.toml")
    defaults = site.defaults(site.space)
    assert (defaults["PriorityFlags"], defaults["PriorityWeightJobSize"]) == ("", "0")


def test_other_dispatchers_have_no_settings(four_cores):
    log = log_of(four_cores, days=1)
    with pytest.raises(ConfigError, match="fifo has no settings to search"):
        Site(study_of_log(log, {"systems": ["four.toml"], "dispatchers": ["fifo"]}, str))


@pytest.mark.slow
def test_the_command_writes_a_page_and_prints_the_answer(four_cores, cpsched):
    log = log_of(four_cores)
    quick = ("tune", str(log), "--system", "four.toml", "--trials", "4", "--repeat", "2")
    quick += ("--wait-factor", "3", "--longest-factor", "3", "--out", "out")
    code, out, err = cpsched(*quick)
    assert (code, err) == (0, "")
    assert "Search on " in out
    assert "On later jobs, " in out
    assert "No recorded start times in the log: the baseline cannot be validated." in out
    page = (four_cores / "out" / "tune.md").read_text()
    assert page.startswith("# Search for better settings: four cores\n\nLog: log\n")
    assert "## Answer" in page
    code, out, _ = cpsched(*quick, "--json")
    assert code == 0
    content = json.loads(out)
    assert content["schema"] == "cpsched.tune/1"
    assert content["recommended"] == ("The proposed settings are recommended." in page)
    assert content["test"].keys() <= {"proposed", "best of 20 random"}
    assert json.loads((four_cores / "out" / "tune.json").read_text())["choice"] == content["choice"]


@pytest.mark.slow
def test_python_and_the_command_give_the_same(four_cores, cpsched):
    log = log_of(four_cores)
    factors = {"wait_factor": 3.0, "longest_factor": 3.0}
    result = tune_log(log, system="four.toml", out="out", trials=4, repeat=2, **factors)
    options = ("--trials", "4", "--repeat", "2", "--wait-factor", "3", "--longest-factor", "3")
    code, out, _ = cpsched(
        "tune", str(log), "--system", "four.toml", "--out", "out", "--json", *options
    )
    assert code == 0
    content = json.loads(out)
    del content["schema"]
    assert content == json.loads(json.dumps(result.as_data()))


def test_settings_are_listed_without_a_search(four_cores, cpsched):
    log = log_of(four_cores, days=1)
    code, out, err = cpsched("tune", str(log), "--system", "four.toml", "--list-settings")
    assert (code, err) == (0, "")
    assert "order.aging" in out
    (four_cores / "space.toml").write_text("[settings]\nallocator = ['pack']\n")
    options = ("--system", "four.toml", "--space", "space.toml", "--list-settings")
    assert "pack, first-fit " in cpsched("tune", str(log), *options)[1]
    assert not (four_cores / "log-tune").exists()


def test_a_short_log_is_refused_before_anything_runs(four_cores, cpsched):
    log = log_of(four_cores, days=10)
    code, out, err = cpsched("tune", str(log), "--system", "four.toml")
    assert (code, out) == (2, "")
    assert "covers 10.0 days" in err
    assert "at least 27 days" in err
