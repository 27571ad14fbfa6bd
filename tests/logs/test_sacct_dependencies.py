"""What Slurm jobs waited for: begin times, other jobs, limits of arrays, and jobs cancelled."""

import pytest

from cpsched import logs
from cpsched.errors import TraceError
from cpsched.logs.sacct.options import options
from cpsched.util.types import MISSING, UNBOUNDED, DependencyType, Status

pytestmark = pytest.mark.slow

NAMES = (
    "JobID|JobName|State|Submit|Eligible|Start|End|TimelimitRaw|ReqTRES|AllocTRES|Reason|SubmitLine"
)


def line(job_id, times, state="COMPLETED", command=""):
    """Return a job; its submit, eligible, start and end are minutes of one hour, - unknown."""
    clock = ["Unknown" if t == "-" else f"2024-03-01T10:{t:>02}:00" for t in times.split()]
    tres = "cpu=1,node=1"
    allocated = "" if clock[2] == "Unknown" else tres
    return "|".join(
        [job_id, "a", state, *clock, "30", tres, allocated, "None", f"sbatch {command} a.sh"]
    )


def read(log, *rows):
    return logs.read(log("a.sacct", "\n".join([NAMES, *rows])))


def column_of(workload, column):
    """Return a column by job, minutes after ten, None for MISSING."""
    values = getattr(workload, column).tolist()
    return {
        name: None if value == MISSING else value // 60
        for name, value in zip(workload.job_id.tolist(), values, strict=True)
    }


def test_eligible_later_than_submit_is_when_a_job_may_begin(log):
    workload = read(log, line("1", "0 0 5 9"), line("2", "0 3 5 9"), line("3", "0 - 5 9"))
    assert column_of(workload, "begin") == {"1": None, "2": 3, "3": None}
    assert column_of(workload, "recorded_start") == {"1": 5, "2": 5, "3": 5}


@pytest.mark.parametrize(
    ("dependency", "target", "kind"),
    [
        ("afterok:1", "1", DependencyType.AFTEROK),
        ("afterany:1", "1", DependencyType.AFTERANY),
        ("after:1", "1", DependencyType.AFTER),
        ("afternotok:2", "2", DependencyType.AFTERNOTOK),
        # Of several, the one that ended last; of an array, its last task.
        ("afterany:1:2", "2", DependencyType.AFTERANY),
        ("afternotok:2,afterok:1", "2", DependencyType.AFTERNOTOK),
        ("afterok:3", "3_2", DependencyType.AFTEROK),
        ("afterok:3_1", "3_1", DependencyType.AFTEROK),
        ("afterok:77:1", "1", DependencyType.AFTEROK),
        # Nothing that can be looked up: the job begins when Slurm says that it was eligible.
        ("singleton", None, None),
        ("afterok:77", None, None),
        ("afterok:1?afterok:2", None, None),
        ("after:1+5", None, None),
        ("afterok:90", None, None),
        ("afterok:80", None, None),
        ("afterok:2", None, None),
        ("afternotok:1", None, None),
        ("expand:1", None, None),
    ],
)
def test_dependencies_are_jobs_of_the_log(log, dependency, target, kind):
    workload = read(
        log,
        line("1", "0 0 1 4"), line("2", "0 0 1 5", "FAILED"),
        line("80", "0 6 7 9", command=f"--dependency={dependency}"), line("90", "0 0 1 2"),
        line("3_1", "0 0 1 2"), line("3_2", "0 0 1 4"),
    )  # fmt: skip
    ids = workload.job_id.tolist()
    row = ids.index("80")
    needed = int(workload.dependency[row])
    assert (ids[needed] if needed >= 0 else None) == target
    assert column_of(workload, "begin")["80"] == (6 if target is None else None)
    if target is not None:
        assert workload.dependency_type[row] == kind


def test_tasks_follow_the_tasks_of_another_array(log):
    tasks = [line(f"3_{task}", "0 0 1 4") for task in (1, 2)]
    more = [line(f"4_{task}", "0 4 5 9", command="-d aftercorr:3") for task in (1, 2)]
    workload = read(log, *tasks, *more)
    assert workload.job_id.tolist() == ["3_1", "3_2", "4_1", "4_2"]
    assert workload.dependency.tolist() == [-1, -1, 0, 1]


def test_a_limit_of_an_array_is_no_begin_time(log):
    """Slurm sets Eligible when a task finds room; a begin time that was asked for stays."""
    tasks = [line(f"3_{task}", f"0 {task} {task} 9", command="-a 1-4%2") for task in (1, 2, 3)]
    waits = line("5_1", "0 4 5 9", command="--begin 2024-03-01T10:02:00 --array=1-9%3")
    workload = read(log, *tasks, waits, line("6_1", "0 4 5 9", command="--array=1-9"))
    assert column_of(workload, "begin") == {
        "3_1": None,
        "3_2": None,
        "3_3": None,
        "5_1": 2,
        "6_1": 4,
    }
    assert workload.array_limit.tolist() == [2, 2, 2, 3, 0]
    assert workload.array.decode() == ["3", "3", "3", "5", "6"]


def test_jobs_cancelled_before_they_started_are_jobs(log):
    rows = [
        line("1", "0 0 1 4"),
        line("2", "0 0 - 4", "CANCELLED by 7"),
        line("3", "0 - - 5", "CANCELLED"),
        line("4", "0 2 - 5", "CANCELLED"),
        line("5", "0 0 - 5", "FAILED"),
        line("6_[1-2,8-12:2%2]", "0 0 - 5", "CANCELLED"),
        line("7_[1,...]", "0 0 - 5", "CANCELLED"),
    ]
    workload = read(log, *rows)
    tasks = ["6_1", "6_2", "6_8", "6_10", "6_12", "7_1"]
    assert workload.job_id.tolist() == ["1", "2", "3", "4", *tasks]
    assert list(column_of(workload, "cancel").values()) == [None, 4, 5, 5, *[5] * 6]
    assert list(column_of(workload, "recorded_start").values()) == [1, *[None] * 9]
    assert workload.runtime.tolist() == [180, *[1800] * 9]
    # Job 3 was held all the time, job 4 was to begin at 2.
    assert column_of(workload, "begin") == dict.fromkeys(workload.job_id.tolist()) | {
        "3": 5,
        "4": 2,
    }
    assert workload.array_limit.tolist() == [0] * 4 + [2] * 5 + [0]
    assert dict(workload.set_aside) == {
        "never ran": 1,
        "tasks missing in JobID (SLURM_BITSTR_LEN)": 1,
    }


def test_every_attempt_of_a_job_is_a_job(log):
    """Job 1 is requeued at 3, its node fails at 6, and it is done at 9; Submit is set anew."""
    rows = [
        line("1", "0 0 1 3", "REQUEUED"),
        line("1", "3 4 5 6", "NODE_FAIL"),
        line("1", "6 8 8 9"),
        line("1", "6 8 8 9"),
        line("2", "0 10 11 12", command="--dependency=afterok:1"),
    ]
    workload = read(log, *rows)
    assert workload.job_id.tolist() == ["1", "2", "1#2", "1#3"]
    assert column_of(workload, "submit") == {"1": 0, "2": 0, "1#2": 3, "1#3": 6}
    assert column_of(workload, "begin") == {"1": None, "2": None, "1#2": 4, "1#3": 8}
    done, cut, failed = Status.COMPLETED, Status.PREEMPTED, Status.FAILED
    assert workload.status.tolist() == [cut, done, failed, done]
    # Each attempt waits for the end of the one before, whenever that is.
    assert workload.dependency.tolist() == [-1, 3, 0, 2]
    kinds = [DependencyType(kind).name for kind in workload.dependency_type[1:].tolist()]
    assert kinds == ["AFTEROK", "AFTERANY", "AFTERANY"]
    assert workload.set_aside == (("repeated line", 1),)
    assert ("Note", "requeued attempts of jobs: 2") in workload.header


def test_what_was_lost_by_preemption_is_no_job(log):
    """Job 1 is preempted twice, then requeued; job 2 is preempted and cancelled as it waits."""
    attempts = [
        line("1", "0 0 1 3", "PREEMPTED", "--dependency=afterany:0"),
        line("1", "3 4 5 6", "PREEMPTED", "-N1 --dependency=afterany:0"),
        line("1", "6 7 8 12", "REQUEUED"),
    ]
    rows = [
        line("0", "0 0 0 1"), *attempts, *attempts, line("1", "12 14 15 16"),
        line("2", "0 0 1 3", "PREEMPTED"), line("2", "3 5 - 6", "CANCELLED by 1000"),
        line("3", "0 0 1 3", "PREEMPTED"),
    ]  # fmt: skip
    workload = read(log, *rows)
    assert workload.job_id.tolist() == ["0", "1", "2", "3", "1#2"]
    assert column_of(workload, "submit") == {"0": 0, "1": 0, "2": 0, "3": 0, "1#2": 12}
    assert column_of(workload, "recorded_start") == {"0": 0, "1": 8, "2": None, "3": 1, "1#2": 15}
    assert column_of(workload, "cancel")["2"] == 6
    assert workload.runtime.tolist()[:2] == [60, 240]
    assert workload.dependency.tolist() == [-1, 0, -1, -1, 1]
    assert dict(workload.set_aside) == {"preempted and requeued": 3, "repeated line": 3}


def test_jobs_may_be_requeued_as_slurm_has_it_by_default(log):
    commands = ["", "--no-requeue", "--no-requeue --requeue", "--requeue"]
    rows = [
        line(str(at), "0 0 1 3", command=command) for at, command in enumerate(commands, start=1)
    ]
    rows += [
        line(str(at), "0 0 1 3").replace("sbatch", command)
        for at, command in ((5, "srun"), (6, "x"))
    ]
    assert read(log, *rows).restartable.tolist() == [True, False, True, True, False, True]


@pytest.mark.parametrize(
    ("command", "component", "expected"),
    [
        ("", 0, {}),
        ("sbatch -N2 -p a,b --nice job.sh --nice=3", 0, {"nodes": "2", "partition": "a,b", "nice": ""}),
        ("/usr/bin/sbatch -W -L matlab:2 job.sh", 0, {"wait": "", "licenses": "matlab:2"}),
        ("srun -W 30 -q high ./a -q low", 0, {"wait": "30", "qos": "high"}),
        ("sbatch --mem 0 --exclusive=user --wrap a -N 3", 0, {"mem": "0", "exclusive": "user"}),
        ("sbatch -N1 -q a : -N2 --nice=-5 : -N3 a.sh : b", 0, {"nodes": "1", "qos": "a"}),
        ("sbatch -N1 -q a : -N2 --nice=-5 : -N3 a.sh : b", 1, {"nodes": "2", "nice": "-5", "qos": "a"}),
        ("sbatch -N1 -q a : -N2 --nice=-5 : -N3 a.sh : b", 2, {"nodes": "3", "nice": "-5", "qos": "a"}),
        ("salloc -- a", 0, {}),
    ],
)  # fmt: skip
def test_options_end_at_the_script(command, component, expected):
    assert options(command, component) == expected


def test_a_short_line_cannot_list_jobs_without_end(log, monkeypatch):
    monkeypatch.setattr("cpsched.logs.sacct.format._MOST_LISTED", 1000)
    rows = [line(f"{job}_[0-399]", "0 0 - 5", "CANCELLED") for job in (1, 2, 3)]
    with pytest.raises(TraceError, match="lists more than 1000 tasks that never started"):
        logs.read(log("a.sacct", "\n".join([NAMES, *rows])), skip_bad_lines=True)


def test_a_line_that_is_skipped_leaves_its_dependency_to_nobody(log):
    """The next job has the row that it would have had."""
    bad = line("3", "0 4 5 9", command="--dependency=afterok:1").replace(
        "cpu=1", f"cpu={2**31 - 1}"
    )
    text = "\n".join([NAMES, line("1", "0 0 1 3"), bad, line("4", "0 0 5 9")])
    workload = logs.read(log("a.sacct", text), skip_bad_lines=True)
    assert workload.job_id.tolist() == ["1", "4"]
    assert workload.dependency.tolist() == [-1, -1]


@pytest.mark.parametrize("limit", ["2147483648", "9007199254740991"])
def test_a_limit_of_more_tasks_than_there_can_be_is_none(log, limit):
    workload = read(log, line("3_6", "0 0 5 9", command=f"--array=1-9%{limit}"))
    assert workload.array_limit.tolist() == [UNBOUNDED]
