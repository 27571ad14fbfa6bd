"""What-if studies: scenarios, what they are called, and for whom they are better or worse."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cpsched import logs
from cpsched.errors import ConfigError, UnknownNameError
from cpsched.model.workload import Workload
from cpsched.report import load_results
from cpsched.report.findings import conclusions
from cpsched.report.terminal import notes
from cpsched.slurm.dispatch import policy_file
from cpsched.slurm.dispatch.policy_edit import edited
from cpsched.study import carry_out, load_run
from cpsched.study.policies import following
from cpsched.study.scenarios import BASELINE, scenario, what_if
from cpsched.study.study_file import parse_study
from cpsched.util.models import Source
from cpsched.util.types import MISSING

SYSTEM = """
name = "site"
resources = ["core", "gpu"]
[[nodes]]
group = "thin"
count = 2
core = 4
[[nodes]]
group = "gpu"
count = 1
core = 4
gpu = 2
[[queues]]
name = "short"
[[queues]]
name = "gpu"
groups = ["gpu"]
"""
DAY = 86400


@pytest.fixture
def folder(tmp_path):
    """A system, and a log of 240 jobs on twelve days."""
    (tmp_path / "site.toml").write_text(SYSTEM)
    rng = np.random.default_rng(5)
    num = 240
    runtime = rng.integers(600, 20_000, num)
    gpu = (np.arange(num) % 4 == 0).astype(int)
    workload = Workload.build(
        title="log",
        job_id=[f"j{at}" for at in range(num)],
        submit=np.sort(rng.integers(0, 12 * DAY, num)),
        runtime=runtime,
        requested_time=runtime * 3,
        units=np.where(gpu, 1, rng.integers(1, 5, num)),
        request=np.stack([np.ones(num, dtype=int), gpu], axis=1),
        resources=("core", "gpu"),
        queue=["gpu" if wants_gpu else "short" for wants_gpu in gpu],
        user=[f"u{at % 7}" for at in range(num)],
        group=["physics" if at % 7 < 3 else "bio" for at in range(num)],
    )
    logs.write(workload, tmp_path / "log.parquet", format="table")
    return tmp_path


def study(folder, **more):
    content = {
        "systems": ["site.toml"],
        "dispatchers": ["easy"],
        "workloads": [{"file": "log.parquet"}],
        **more,
    }
    return parse_study(Source(str(folder / "study.toml"), content))


def test_words_become_scenarios():
    parsed = scenario("add-nodes group=gpu,count=10;  set bf_window=2880;predictor last")
    assert parsed.label == "add-nodes group=gpu,count=10- set bf_window=2880- predictor last"
    assert parsed.changes == ("add-nodes:count=10,group=gpu",)
    assert parsed.settings == ("bf_window=2880",)
    assert parsed.predictor == "last"


@pytest.mark.parametrize(
    ("words", "spec"),
    [
        ("max-time short=2:00:00", "max-time:queue=short,time=2:00:00"),
        ("default-time short=2:00:00", "default-time:queue=short,time=2:00:00"),
        ("priority-tier short=2", "priority-tier:queue=short,tier=2"),
        ("scale-load 1.2", "scale-load:factor=1.2"),
        ("scale-load 1.2,how=times", "scale-load:factor=1.2,how=times"),
        ("cap-request 12:00:00", "cap-request:time=12:00:00"),
        ("cap-request 2x", "cap-request:factor=2"),
        ("drop user=ann", "drop:user=ann"),
        ("drop:user=ann", "drop:user=ann"),
        ("outage nodes=n1,start=2024-03-01T10:00:00,end=9", "outage:end=9,nodes=n1,start=7"),
    ],
)
def test_a_change_has_a_short_form_and_that_of_a_specification(words, spec):
    assert scenario(words, lambda date: len(date) - 12).changes == (spec,)


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("big: drop user=ann; scale-load 2", "big"),
        ("big:drop user=ann", "big"),
        ("drop her: drop user=ann", "drop her"),
        ("cap-request 12:00:00", "cap-request 12:00:00"),
        ("dispatcher try:dispatcher=easy", "dispatcher try:dispatcher=easy"),
    ],
)
def test_a_name_and_a_colon_may_be_in_front(text, label):
    assert scenario(text).label == label


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("add-node group=gpu,count=1", "add-node.*mean 'add-nodes'"),
        ("cap-reqest 2:00:00", "'cap-reqest'.*mean 'cap-request'"),
        ("big: drp user=ann", "'drp'.*mean 'drop'"),
        ("set bf_window", "must be KEY=VALUE"),
        ("scale-load much", "'much' is not a number"),
        ("cap-request soon", "not a length of time"),
        ("max-time short", "max-time"),
        ("default-time short", "default-time"),
        ("priority-tier short=high", "tier: .*whole number"),
        ("add-nodes group=gpu", "count"),
        ("outage nodes=n1,start=noon,end=5", "'noon', must be seconds or a date"),
        ("empty: ;", "changes nothing"),
        ("dispatcher easy; dispatcher fifo", "has one dispatcher"),
    ],
)
def test_words_that_make_no_sense(words, message):
    with pytest.raises((ConfigError, UnknownNameError), match=message):
        scenario(words)


def test_scenarios_are_compared_with_the_baseline_for_everybody(folder):
    base = study(folder, repeat=3)
    scenarios = [
        scenario("gpus: add-nodes group=gpu,count=1"),
        scenario("without u1: drop user=u1"),
        scenario("sjf: set backfill=sjf"),
        scenario("outage: outage nodes=node3,start=86400,end=172800"),
        scenario("fifo: dispatcher fifo; predictor actual"),
    ]
    wanted = what_if(base, scenarios, folder / "out")
    outcome = carry_out(wanted, folder / "out")
    assert not outcome.failed
    table = load_results(folder / "out")
    runs = {run[2]: run for run in table.repetitions}
    assert list(runs) == [BASELINE, "gpus", "without u1", "sjf", "outage", "fifo"]
    assert table.get(runs["without u1"], "simulated").value == 240 - 35
    assert runs["fifo"][3] == "actual"
    # Every scenario is compared with the baseline, whatever its system, jobs and predictor.
    assert {row.run[2] for row in table.rows if row.baseline} == set(runs) - {BASELINE}
    assert table.baselines == {runs[BASELINE]}

    by_group = {}
    for row in table.group_rows(runs["gpus"]):
        by_group.setdefault(row.group, {})[row.metric] = row
    kinds = ("queue", "account", "user", "length", "size", "GPU")
    assert {kind for kind, _ in by_group} == {"all", *kinds}
    for kind in kinds:
        jobs = [rows["common_jobs"].value for group, rows in by_group.items() if group[0] == kind]
        assert sum(jobs) == 240
    # Jobs with GPUs gain, those of the other queue are where they were.
    wait = by_group["GPU", "yes"]["common_wait_mean_s"]
    assert wait.difference < 0
    assert wait.difference_interval[1] < 0
    assert wait.verdict == "lower"
    jobs = by_group["all", "all"]["common_wait_mean_s"]
    assert jobs.difference == pytest.approx(jobs.value - jobs.base_value)
    assert jobs.value == pytest.approx(table.get(runs["gpus"], "wait_mean_s").value)
    # Of the dropped user's jobs nothing is said.
    dropped = {row.group[1] for row in table.group_rows(runs["without u1"])}
    assert "u1" not in dropped
    sentences = conclusions(table)
    assert re.match(r"gpus: mean wait -\d+ % \(95 % CI .*\), longest wait ", sentences[0])
    names = [name for name in runs if name not in (BASELINE, "gpus")]
    assert [line.partition(":")[0] for line in sentences[1:-3]] == names
    assert sentences[-3].startswith("These changes are over the jobs of both runs.")
    assert sentences[-1].startswith("Intervals are over the days of the log.")
    assert (folder / "out").is_dir()


def test_one_run_each_has_no_verdict_however_many_days_the_log_has(folder):
    """Its interval over the days is shown, and the way to confirm it is named."""
    out = folder / "out"
    carry_out(what_if(study(folder), [scenario("gpus: add-nodes group=gpu,count=1")], out), out)
    table = load_results(out)
    assert {row.verdict for row in table.rows if row.verdict} <= {"one run", "equal"}
    (run,) = (run for run in table.repetitions if run not in table.baselines)
    wait = table.get(run, "common_wait_mean_s", ("GPU", "yes"))
    assert wait.difference_interval[1] < 0
    assert conclusions(table, "--repeat 5")[-1] == (
        "One run each cannot tell a difference from chance. Use --repeat 5."
    )


def test_shorter_waits_are_not_a_gift_of_jobs_that_end_early_or_never_run(folder):
    """A cap below what jobs run for, and a machine without the nodes that some ask for."""
    site = SYSTEM.replace('name = "short"', 'name = "short"\ngroups = ["thin"]')
    (folder / "site.toml").write_text(site.replace("core = 4", "core = 2", 1))
    limit = 7200
    scenarios = [
        scenario(f"max-time short={limit}"), scenario("remove-nodes group=thin,count=1"),
    ]  # fmt: skip
    carry_out(what_if(study(folder), scenarios, folder / "out"), folder / "out")
    sentences = conclusions(load_results(folder / "out"))
    log = logs.read(folder / "log.parquet")
    on_gpus = log.request[:, 1] > 0
    late = (~on_gpus & (log.runtime > limit)).sum() / 240
    wide = (~on_gpus & (log.units > 2)).sum() / 240
    (cap,) = (line for line in sentences if "max-time short=7200: " in line)
    (fewer,) = (line for line in sentences if "remove-nodes group=thin,count=1: " in line)
    assert f". {100 * late:.1f} % of the jobs are killed at their limit instead of 0.0 %" in cap
    assert "can never run" not in cap
    assert f". {100 * wide:.1f} % of the jobs can never run instead of 0.0 %" in fewer
    assert "killed" not in fewer


@pytest.mark.parametrize("change", ["cap-request 9-0", "default-time short=1:00:00"])
def test_what_changes_nothing_is_said_to(folder, change):
    """For example because all jobs of the log ask for a time."""
    wanted = what_if(study(folder).narrowed(first=50), [scenario(change)], folder)
    carry_out(wanted, folder / "out")
    table = load_results(folder / "out")
    assert conclusions(table) == [
        f"{change}: mean wait unchanged, longest wait unchanged. No job waits a minute less or"
        " more.",
        "One run each cannot tell a difference from chance. Use several repetitions.",
    ]
    (run,) = (run for run in table.repetitions if run not in table.baselines)
    verdicts = {row.verdict for row in table.group_rows(run) if row.compared}
    assert verdicts == {"equal"}


def test_jobs_of_the_beginning_are_run_and_not_asked_about(folder):
    base = study(folder, measure_from=4 * DAY)
    carry_out(what_if(base, [scenario("scale-load 1.1")], folder), folder / "out")
    table = load_results(folder / "out")
    counts = {table.get(run, "simulated").value for run in table.repetitions}
    assert counts == {240, 264}
    (jobs,) = (row for row in table.rows if (row.metric, row.group[0]) == ("common_jobs", "all"))
    submit = logs.read(folder / "log.parquet").submit
    assert jobs.value == int((submit >= 4 * DAY).sum()) < 240
    for run, of in table.repetitions.items():
        schedule = load_run(of[0].path).schedule
        own = schedule.workload.submit >= 4 * DAY
        waits = (schedule.start - schedule.workload.submit)[own]
        assert table.get(run, "wait_mean_s").value == pytest.approx(waits.mean())
        assert table.get(run, "wait_max_s").value == waits.max()
    note = "Waits, slowdowns and response times are of the jobs submitted from 345600 on."
    assert note in list(notes(table, next(iter(table.cases))))


def test_jobs_that_never_ran_are_compared_with_nothing(folder):
    workload = logs.read(folder / "log.parquet")
    cancel = np.full(len(workload), MISSING)
    cancel[5] = workload.submit[5]
    logs.write(workload.with_columns(cancel=cancel), folder / "log.parquet", format="table")
    wanted = what_if(study(folder), [scenario("x: drop user=u1")], folder / "out")
    assert not carry_out(wanted, folder / "out").failed
    table = load_results(folder / "out")
    (jobs,) = (row for row in table.rows if (row.metric, row.group[0]) == ("common_jobs", "all"))
    assert jobs.value == 240 - 35 - 1


def test_a_study_file_can_say_the_same(folder):
    (folder / "study.toml").write_text(
        """
        systems = ["site.toml"]
        by_group = true
        [dispatchers]
        baseline = "easy"
        gpus = "easy"
        [[workloads]]
        file = "log.parquet"
        dispatchers = ["baseline"]
        [[workloads]]
        file = "log.parquet"
        dispatchers = ["gpus"]
        changes = ["add-nodes:group=gpu,count=1"]
        [baseline]
        dispatcher = "baseline"
        """
    )
    from cpsched.study import load_study

    outcome = carry_out(load_study(folder / "study.toml"), folder / "out")
    assert not outcome.failed
    own = what_if(study(folder), [scenario("gpus: add-nodes group=gpu,count=1")], folder / "out")
    # They are the same runs.
    assert carry_out(own, folder / "out").existing == 2


def test_two_scenarios_of_one_name_are_refused(folder):
    two = [scenario("x: drop user=u1"), scenario("x: drop user=u2")]
    with pytest.raises(ConfigError, match="two scenarios have this name"):
        what_if(study(folder), two, folder)
    with pytest.raises(ConfigError, match="set applies to the baseline's dispatcher"):
        what_if(study(folder), [scenario("x: dispatcher fifo; set backfill=sjf")], folder)
    with pytest.raises(ConfigError, match="needs --slurm-policy"):
        what_if(study(folder), [scenario("x: set qos.a.Priority=4")], folder)


POLICY = """
[licenses]
matlab = 4
[[qos]]
Name = "normal"
MaxJobsPU = 2
[[partition]]
PartitionName = "short"
[[association]]
Account = "physics"
[[association]]
Account = "physics"
User = "ann"
"""


def test_values_of_a_policy_are_changed():
    edits = [
        *("qos.normal.MaxJobsPU=8", "qos.normal.GrpTRES=cpu=100", "licenses.matlab=9"),
        *("account.physics.Share=7", "user.ann.Share=3", "partition.short.PriorityJobFactor=5"),
    ]
    policy = edited(policy_file.parse(POLICY), edits)
    assert policy.qos["normal"].limits == {"MaxJobsPU": 8, "GrpTRES": {"cpu": 100}}
    assert policy.licenses == {"matlab": 9}
    assert [association.shares for association in policy.associations] == [7, 3]
    assert policy.partitions["short"].job_factor == 5
    longer = edited(policy, ["qos.normal.MaxJobsPerUser=7"])
    assert longer.qos["normal"].limits["MaxJobsPU"] == 7
    assert edited(policy, ["qos.normal.MaxJobsPU="]).qos["normal"].limits == {
        "GrpTRES": {"cpu": 100}
    }


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        ("qoss.normal.MaxJobsPU=1", "unknown table 'qoss'.*mean 'qos'"),
        ("qos.norml.MaxJobsPU=1", "unknown qos 'norml'.*mean 'normal'"),
        ("qos.normal.MaxJobPU=1", "unknown key.*mean 'MaxJobsPU'"),
        ("qos.normal.MaxJobsPU=few", "is not a whole number"),
        ("partition.short.PriorityTier=1", "--change 'priority-tier QUEUE=VALUE'"),
        ("partition.short.MaxTime=60", "--change 'max-time QUEUE=VALUE'"),
        ("account.ann.Share=1", "unknown account 'ann'"),
        ("qos.MaxJobsPU=1", "Write qos.NAME.KEY=VALUE"),
    ],
)
def test_values_that_a_policy_has_not(edit, message):
    with pytest.raises(ConfigError, match=message) as caught:
        edited(policy_file.parse(POLICY), [edit])
    assert edit in str(caught.value)
    # Neither the lines of a file that nobody has nor names by the dozen.
    assert not re.search(r":[0-9]+: |\[[0-9]\]", str(caught.value).removeprefix(edit))
    assert len(str(caught.value)) < 200


def test_a_policy_needs_the_dispatcher_slurm():
    policy = Path("p.toml")
    assert following(None, None) == "easy"
    for base in (None, "slurm"):
        assert following(policy, base) == f"slurm:policy={policy.absolute()}"
    with pytest.raises(ConfigError) as caught:
        following(policy, "easy")
    assert (
        str(caught.value) == "--slurm-policy: needs the dispatcher slurm. Remove --dispatcher easy."
    )
    with pytest.raises(ConfigError, match="^policy: needs .* Use dispatcher slurm:policy=p.toml"):
        following(policy, "easy", ("policy", "dispatcher"), several=True)
    with pytest.raises(ConfigError, match="unknown dispatcher 'esay'"):
        following(policy, "esay")


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        (
            "PriorityWeightFairshar=0",
            "slurm:PriorityWeightFairshar=0: slurm has no option 'PriorityWeightFairshar'. Did you mean 'PriorityWeightFairshare'?",
        ),
        ("nothing=1", "slurm:nothing=1: slurm has no option 'nothing'. Options: 6"),
        ("bf_window=abc", "'abc' is not a whole number"),
    ],
)
def test_options_that_slurm_does_not_have(folder, setting, message):
    baseline = study(folder)
    own = replace(baseline.dispatchers[0], spec="slurm")
    with pytest.raises(ConfigError, match=re.escape(f"set {setting}: {message}")) as caught:
        what_if(replace(baseline, dispatchers=(own,)), [scenario(f"set {setting}")], folder)
    assert len(str(caught.value)) < 200


def test_an_outage_of_nodes_that_are_not_there_is_refused_before_anything_runs(folder):
    wrong = scenario("outage nodes=node99,start=86400,end=172800")
    with pytest.raises(ConfigError, match="unknown node 'node99'"):
        what_if(study(folder), [wrong], folder / "out")
