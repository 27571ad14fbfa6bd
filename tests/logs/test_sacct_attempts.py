"""Numbers of Slurm jobs that stand for several lines: attempts, arrays, other people's jobs."""

import json

import pytest

from cpsched import logs
from cpsched.util.types import MISSING, DependencyType

NAMES = (
    "JobID|Cluster|User|Account|JobName|State|Submit|Eligible|Start|End|Timelimit|ReqTRES"
    "|AllocTRES|SubmitLine|Suspended"
)


def line(
    job_id, times, owner="ann phys a", *, day="2024-03-01", state="COMPLETED", cluster="c",
    command="", suspended="",
):  # fmt: skip
    """Return a job; its submit, eligible, start and end are minutes of one hour, - unknown."""
    clock = ["Unknown" if t == "-" else f"{day}T10:{t:>02}:00" for t in times.split()]
    tres = "cpu=1,node=1"
    allocated = "" if clock[2] == "Unknown" else tres
    cells = [job_id, cluster, *owner.split(), state, *clock, "01:00:00", tres, allocated]
    return "|".join([*cells, f"sbatch {command} a.sh", suspended])


def read(log, *rows):
    return logs.read(log("a.sacct", "\n".join([NAMES, *rows])))


def notes(workload):
    return [text for key, text in workload.header if key == "Note"]


@pytest.mark.parametrize(
    ("owner", "day", "cluster"),
    [
        ("bea chem old", "2026-03-02", "c"),
        ("bea phys a", "2026-03-02", "c"),
        ("ann chem a", "2026-03-02", "c"),
        ("ann phys b", "2026-03-02", "c"),
        ("ann phys a", "2026-03-02", "d"),
    ],
)
def test_a_number_that_is_given_out_again_is_another_job(log, owner, day, cluster):
    workload = read(
        log, line("7", "0 0 1 5"), line("7", "0 0 1 4", owner, day=day, cluster=cluster)
    )
    assert workload.job_id.tolist() == ["7", "7@2"]
    assert workload.dependency.tolist() == [-1, -1]
    assert "jobs with the number of an earlier job: 1" in notes(workload)
    assert not any("queued again" in note for note in notes(workload))


def test_a_job_submitted_before_the_end_of_the_one_before_is_no_attempt(log):
    """Also of the same user, account and name: nobody is queued again while still running."""
    workload = read(log, line("7", "0 0 1 9"), line("7", "5 5 6 8"))
    assert workload.job_id.tolist() == ["7", "7@2"]
    assert workload.dependency.tolist() == [-1, -1]


def test_attempts_of_both_jobs_of_a_number_are_theirs(log):
    other = {"owner": "bea chem b", "day": "2026-03-02"}
    workload = read(
        log,
        line("7", "0 0 1 3", state="REQUEUED"), line("7", "3 3 4 5"),
        line("7", "0 0 1 3", state="NODE_FAIL", **other), line("7", "4 4 5 9", **other),
        line("7", "4 4 5 9", **other),
    )  # fmt: skip
    assert workload.job_id.tolist() == ["7", "7#2", "7@2", "7@2#2"]
    assert workload.dependency.tolist() == [-1, 0, -1, 2]
    assert "requeued attempts of jobs: 2" in notes(workload)
    assert dict(workload.set_aside) == {"repeated line": 1}


def test_an_array_of_an_old_number_is_an_array_of_its_own(log):
    """Tasks of two arrays of one number do not share a limit; each is waited for in its time."""
    late = {"owner": "bea chem b", "day": "2026-03-02"}
    workload = read(
        log,
        *(line(f"7_{task}", "0 0 1 5", command="--array=1-2%1") for task in (1, 2)),
        line("8", "0 5 6 7", command="--dependency=afterok:7"),
        *(line(f"7_{task}", "0 0 1 4", command="--array=1-3%1", **late) for task in (2, 3)),
        line("9", "0 4 6 7", command="--dependency=afterok:7", **late),
    )
    assert workload.job_id.tolist() == ["7_1", "7_2", "8", "7_2@2", "7_3@2", "9"]
    assert workload.array.decode() == ["7", "7", None, "7@2", "7@2", None]
    needed = [workload.job_id[row] if row >= 0 else None for row in workload.dependency.tolist()]
    assert needed == [None, None, "7_2", None, None, "7_3@2"]


def test_components_of_one_job_may_have_names_of_their_own(log):
    workload = read(log, line("7+0", "0 0 1 5"), line("7+1", "0 0 1 5", "ann phys b"))
    assert workload.job_id.tolist() == ["7+0", "7+1"]


def test_a_number_of_one_cluster_is_not_that_of_another(log):
    workload = read(log, line("7", "0 0 1 5"), line("7", "0 0 1 5", cluster="d"))
    assert workload.job_id.tolist() == ["7", "7@2"]
    assert "jobs of other clusters than the first: 1" in notes(workload)


def as_json(job_id, user, submit, seconds, state):
    cpu = [{"type": "cpu", "count": 1}, {"type": "node", "count": 1}]
    time = {"submission": submit, "start": submit, "end": submit + seconds, "elapsed": seconds}
    return {
        "job_id": job_id, "user": user, "account": "a", "name": "n", "state": {"current": state},
        "time": {**time, "limit": {"set": True, "number": 60}, "suspended": {"seconds": 30}},
        "tres": {"allocated": cpu, "requested": cpu}, "priority": {"set": True, "number": 5},
        "restart_cnt": 0, "mcs": {"label": "x"}, "frobs": [{"a": 0}],
    }  # fmt: skip


def test_json_has_numbers_given_out_again_flags_and_suspensions(log):
    jobs = [
        as_json(7, "ann", 1_500_000_000, 60, ["COMPLETED", "EXPEDITING"]),
        as_json(7, "bea", 1_700_000_000, 60, ["COMPLETED"]),
        as_json(7, "bea", 1_700_000_060, 60, ["COMPLETED"]),
        as_json(8, "bea", 1_700_000_060, 60, ["FROBBED"]),
        as_json(9, "bea", 2**32 - 2, 60, ["PENDING", "EXPEDITING"]),
    ]
    workload = logs.read(log("a.json", json.dumps({"jobs": jobs})))
    assert workload.job_id.tolist() == ["7", "7@2", "7@2#2"]
    assert dict(workload.set_aside) == {"state FROBBED": 1, "still waiting": 1}
    assert sorted(notes(workload)) == [
        "hours for which jobs were suspended: 0.0",
        "jobs that were suspended: 3",
        "jobs with the number of an earlier job: 1",
        "not modelled: column mcslabel (nodes are not kept to one label): 100.0 % of the jobs,"
        " 100.0 % of the core-hours",
        "requeued attempts of jobs: 1",
        "states with the flag EXPEDITING: 1",
    ]


@pytest.mark.parametrize(
    ("tasks", "number"),
    [
        ("9201-10000%500", 800), ("1-10:2", 5), ("1,3,5-9", 7), ("0-15%4", 16),
        ("1-3,7,...", 4), ("5", 1),
    ],
)  # fmt: skip
def test_a_pending_array_asks_for_what_all_its_tasks_do(log, tasks, number):
    """One core for an hour each."""
    row = line(f"7_[{tasks}]", "0 - - -", state="PENDING")
    workload = read(log, line("1", "0 0 1 5"), row)
    assert dict(workload.set_aside)["still waiting"] == 1
    (text,) = (text for _, text in workload.header if text.startswith("still waiting: "))
    jobs = f"{number:,} jobs; " if number > 1 else ""
    assert text == f"still waiting: {jobs}{number:.1f} core-hours; 7_[{tasks}]"
    assert ("tasks missing in JobID (SLURM_BITSTR_LEN)" in dict(workload.set_aside)) == (
        "..." in tasks
    )


def test_suspended_jobs_are_counted_with_their_time(log):
    workload = read(
        log,
        line("1", "0 0 1 50", suspended="00:30:00"), line("2", "0 0 1 5", suspended="00:00:00"),
        line("3", "0 0 1 50", suspended="00:06:00"), line("4", "0 0 1 5", suspended=""),
    )  # fmt: skip
    assert "jobs that were suspended: 2" in notes(workload)
    assert "hours for which jobs were suspended: 0.6" in notes(workload)
    assert workload.recorded_start.tolist() == [60] * 4


SINGLE = {"command": "-d singleton"}


def needed(workload):
    ids = workload.job_id.tolist()
    return {
        name: None if row < 0 else ids[row]
        for name, row in zip(ids, workload.dependency.tolist(), strict=True)
    }


def test_jobs_of_singleton_wait_for_the_one_before(log):
    """Only of their own user and name; the first waits for nobody."""
    workload = read(
        log,
        line("1", "0 0 0 5", **SINGLE), line("2", "0 0 0 5", "bea phys a", **SINGLE),
        line("3", "0 0 0 5", "ann phys b", **SINGLE), line("4", "0 5 5 6", **SINGLE),
        line("5", "0 6 6 7", **SINGLE),
    )  # fmt: skip
    assert needed(workload) == {"1": None, "2": None, "3": None, "4": "1", "5": "4"}
    assert set(workload.dependency_type.tolist()) == {int(DependencyType.AFTERANY)}
    assert workload.begin.tolist() == [MISSING] * 5
    assert notes(workload) == []


def test_a_job_of_singleton_waits_for_the_last_attempt_before_it(log):
    workload = read(
        log,
        line("1", "0 0 0 2", state="NODE_FAIL", **SINGLE), line("2", "1 5 6 7", **SINGLE),
        line("1", "2 2 3 5", **SINGLE),
    )  # fmt: skip
    assert needed(workload) == {"1": None, "2": "1#2", "1#2": "1"}


def test_one_that_left_the_queue_does_not_stand_for_those_before_it(log):
    workload = read(
        log,
        line("1", "0 0 0 9", **SINGLE),
        line("2", "0 - - 3", state="CANCELLED by 7", **SINGLE),
        line("3", "1 9 9 10", **SINGLE),
    )
    assert needed(workload) == {"1": None, "2": "1", "3": "1"}
    assert "jobs that wait for several others (here for the last to end): 1" in notes(workload)


def test_tasks_of_an_array_of_singleton_run_one_by_one(log):
    rows = [line(f"7_{task}", f"0 {task} {task} {task + 1}", **SINGLE) for task in (1, 2, 3)]
    assert needed(read(log, *rows)) == {"7_1": None, "7_2": "7_1", "7_3": "7_2"}


def test_components_of_a_job_of_singleton_do_not_wait_for_each_other(log):
    rows = [line("5", "0 0 0 2", **SINGLE)]
    rows += [line(f"7+{part}", "0 2 2 9", **SINGLE) for part in (0, 1)]
    assert needed(read(log, *rows)) == {"5": None, "7+0": "5", "7+1": "5"}


def test_singleton_may_stand_beside_other_dependencies(log):
    workload = read(
        log,
        line("1", "0 0 0 2"), line("2", "0 0 0 9", "bea phys x"),
        line("3", "0 9 9 10", command="--dependency=singleton,afterok:2"),
    )  # fmt: skip
    assert needed(workload)["3"] == "2"


@pytest.mark.parametrize(
    ("form", "asked"),
    [
        ("?", "afterok:1?afterok:2"), ("after:ID+MINUTES", "after:1+5"), ("expand", "expand:1"),
        ("afterburstbuffer", "afterburstbuffer:1"),
    ],
)  # fmt: skip
def test_a_dependency_that_is_not_modelled_is_listed_and_begins_as_recorded(log, form, asked):
    workload = read(
        log,
        line("1", "0 0 0 2"),
        line("2", "0 0 0 9"),
        line("3", "0 6 7 10", command=f"-d {asked}"),
    )
    assert needed(workload)["3"] is None
    assert workload.begin.tolist() == [MISSING, MISSING, 360]
    gap = f"--dependency={form} (begins when the log says that it was eligible)"
    assert any(
        note.startswith(f"not modelled: {gap}: 33.3 % of the jobs") for note in notes(workload)
    )


@pytest.mark.parametrize("asked", ["1:2", "1", "afterany:1:2", "AFTERANY:2", "after:1+0"])
def test_numbers_alone_and_capitals_are_dependencies(log, asked):
    workload = read(
        log, line("1", "0 0 0 2"), line("2", "0 0 0 5"), line("3", "0 6 7 9", command=f"-d {asked}")
    )
    assert needed(workload)["3"] == ("1" if asked in ("1", "after:1+0") else "2")
