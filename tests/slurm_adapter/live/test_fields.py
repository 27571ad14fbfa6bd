"""
What Slurm prints, read back: recorded from 22.05, and as documented of later versions.

Recorded: ``squeue``, ``sinfo`` and ``scontrol`` of Slurm 22.05.8 with ``xMARKMARKMARK`` as the
separator, and ``/jobs`` and ``/nodes`` of its slurmrestd (v0.0.38). Of 23.11 (v0.0.40), 24.11
(v0.0.42) and 25.05 (v0.0.43) the tests have what the OpenAPI pages of slurmrestd say of the fields,
and of ``squeue`` what its manual says.
"""

from __future__ import annotations

import json

import pytest

from slurm_adapter.live.backend import UnreadableError
from slurm_adapter.live.fields import (
    JOB_FIELDS,
    closed_nodes,
    details_of,
    gres_of,
    job_of,
    records,
    separator,
)
from slurm_adapter.live.slurmrestd import jobs_of
from slurm_adapter.live.snapshot import Placed, in_order

MARK = "xMARKMARKMARK"


@pytest.fixture
def recorded(data):
    folder = data / "slurm" / "live"

    def read(name):
        return (folder / name).read_text()

    return read


def squeue(text):
    return in_order([job_of(row) for row in records(text, JOB_FIELDS, MARK)])


def test_squeue_of_22_05(recorded):
    """Names with separators, line ends, options and forged records in them are names."""
    jobs = squeue(recorded("squeue-22.05.txt"))
    assert list(jobs) == ["1", "2", "3", "4", "5_1", "5_3", "5_4", "5_5", "6", "7", "5_2"]
    assert jobs["1"].name == "a|b\n c Nodes=x CPU_IDs=0-3 Mem=1 GRES= \nJobId=2 "
    assert jobs["1"].comment == "x\ny|z"
    assert jobs["7"].name == "--quit=;release 3"
    assert (jobs["2"].nodes_min, jobs["2"].nodes_max, jobs["2"].exclusive) == (2, 4, True)
    assert (jobs["2"].features, jobs["2"].partition) == ("mic|gpu", "debug,parallel")
    assert jobs["2"].eligible == jobs["2"].submit + 600
    assert (jobs["3"].tasks_per_node, jobs["3"].mem, jobs["3"].mem_per_core) == (3, 102400, True)
    assert jobs["3"].dependency == "afterok:1(unfulfilled)"
    assert (jobs["4"].mem, jobs["4"].mem_per_core, jobs["4"].cpus_per_task) == (2**20, False, 2)
    assert (jobs["4"].required, jobs["4"].contiguous) == (("node035",), True)
    assert jobs["5_1"].gres_per_task == "gres:gpu:1"
    assert jobs["6"].nodes == ("node034", "node035")
    assert jobs["6"].end == jobs["6"].start + 300


def test_scontrol_of_22_05(recorded):
    """Excluded nodes, what a job holds on each node, and the limit of an array."""
    jobs = squeue(recorded("squeue-22.05.txt"))
    text = recorded("scontrol-22.05.txt")
    lines = {part[:1]: part for part in text.split("scontrol: show job ") if part[:1].isdigit()}
    assert details_of(lines["3"], jobs["3"]).excluded == ("node001",)
    assert details_of(lines["5"], jobs["5_1"]).array_limit == 2
    assert details_of(lines["6"], jobs["6"]).placed == (
        Placed("node034", 16, 15904 * 1024, {"gpu": 2}),
        Placed("node035", 4, 3976 * 1024, {"gpu": 2}),
    )
    # Its name says that it holds another node: then nothing is believed.
    assert details_of(lines["1"], jobs["1"]).placed == ()


def test_sinfo_of_22_05(recorded):
    """A node that is drained and one that is down."""
    assert closed_nodes(recorded("sinfo-22.05.txt"), MARK) == {"node002", "node003"}


def test_slurmrestd_of_22_05(recorded):
    """The same as squeue says."""
    jobs = squeue(recorded("squeue-22.05.txt"))
    answer = json.loads(recorded("jobs-v0.0.38.json"))
    found = in_order([job for record in answer["jobs"] for job in jobs_of(record)])
    assert list(found) == list(jobs)
    for key, job in found.items():
        for name in ("state", "submit", "held", "nodes", "name", "mem", "nodes_max", "partition"):
            assert getattr(job, name) == getattr(jobs[key], name), (key, name)
    assert found["6"].placed[1] == Placed("node035", 4, 3976 * 1024, {"gpu": 2})
    assert found["3"].excluded == ("node001",)


def number(value):
    return {"set": value is not None, "infinite": False, "number": value or 0}


LATER = {
    "job_id": 70, "array_job_id": number(7), "array_task_id": number(3), "array_task_string": "",
    "job_state": ["RUNNING"], "priority": number(4294), "submit_time": number(1_700_000_000),
    "start_time": number(1_700_000_100), "end_time": number(1_700_003_700),
    "eligible_time": number(1_700_000_000), "time_limit": number(60), "node_count": number(2),
    "max_nodes": number(0), "cpus": number(20), "tasks": number(20), "cpus_per_task": number(1),
    "tasks_per_node": number(None), "memory_per_cpu": number(994), "memory_per_node": number(None),
    "tres_per_node": "gres/gpu:2", "nodes": "n[1-2]", "required_nodes": "n1,n2",
    "shared": ["none"], "name": "x", "user_name": "u", "partition": "p",
    "gres_detail": ["gpu:2(IDX:0-1)", "gpu:2(IDX:0-1)"],
}  # fmt: skip
V0_0_40 = {
    "nodes": "n[1-2]", "allocated_cores": 20,
    "allocated_nodes": [
        {"nodename": "n1", "cpus_used": 16, "memory_used": 0, "memory_allocated": 15904},
        {"nodename": "n2", "cpus_used": 4, "memory_used": 0, "memory_allocated": 3976},
    ],
}  # fmt: skip
V0_0_42 = {
    "select_type": ["CPU"], "cpus": 20, "threads_per_core": number(1),
    "nodes": {
        "count": 2, "list": "n[1-2]", "whole": False,
        "allocation": [
            {"index": 0, "name": "n1", "cpus": {"count": 16, "used": 0},
             "memory": {"used": 0, "allocated": 15904}, "sockets": []},
            {"index": 1, "name": "n2", "cpus": {"count": 4, "used": 0},
             "memory": {"used": 0, "allocated": 3976}, "sockets": []},
        ],
    },
}  # fmt: skip


@pytest.mark.parametrize("resources", [V0_0_40, V0_0_42], ids=["23.11", "24.11 and 25.05"])
def test_slurmrestd_as_documented_later(resources):
    """Numbers that say whether they are set, states as lists, nodes elsewhere."""
    (job,) = jobs_of({**LATER, "job_resources": resources})
    assert (job.key, job.array, job.state, job.held) == ("7_3", "7", "RUNNING", False)
    assert (job.start, job.time_limit, job.mem, job.mem_per_core) == (
        1_700_000_100, 3600, 994 * 1024, True,
    )  # fmt: skip
    assert job.exclusive
    assert job.placed == (
        Placed("n1", 16, 15904 * 1024, {"gpu": 2}),
        Placed("n2", 4, 3976 * 1024, {"gpu": 2}),
    )


def test_components_of_heterogeneous_jobs_are_known_as_such(recorded):
    """They hold nodes as any job, and are nobody's to start alone."""
    row = next(records(recorded("squeue-22.05.txt"), JOB_FIELDS, MARK))
    assert not job_of(row).is_part
    assert job_of({**row, "HetJobID": "7"}).is_part
    (job,) = jobs_of({**LATER, "het_job_id": number(7)})
    assert job.is_part


def test_a_priority_that_is_not_set_is_not_held():
    """Held is a priority of 0; one without bound is not."""
    waiting = {**LATER, "job_state": ["PENDING"], "nodes": ""}
    (job,) = jobs_of({**waiting, "priority": number(0)})
    assert job.held
    (job,) = jobs_of({**waiting, "priority": {"set": True, "infinite": True, "number": 0}})
    assert not job.held


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("gres:gpu:2", {"gpu": 2}), ("gres/gpu=2", {"gpu": 2}), ("gres/gpu:2", {"gpu": 2}),
        ("gpu:a100:2(IDX:0-1),gpu:v100:1", {"gpu": 3}), ("gres:gpu", {"gpu": 1}), ("N/A", {}),
        ("gres:gpu:1,gres:mic:2", {"gpu": 1, "mic": 2}),
    ],
)  # fmt: skip
def test_generic_resources_of_all_versions(text, found):
    """22.05 writes gres:gpu:2, 23.11 gres/gpu:2, 24.11 gres/gpu=2."""
    assert gres_of(text) == found


def test_a_cut_off_answer_is_not_read(recorded):
    """Nor one with a value that makes no sense."""
    text = recorded("squeue-22.05.txt")
    with pytest.raises(UnreadableError, match="not complete"):
        squeue(text[: len(text) // 2])
    with pytest.raises(UnreadableError, match="job '.*': NumNodes is 'many'"):
        squeue(text.replace(f"{MARK}2{MARK}", f"{MARK}many{MARK}"))
    with pytest.raises(UnreadableError, match="fields, must have"):
        squeue(text.replace(MARK, "", 1))


def test_separators_differ_and_begin_with_a_letter():
    """Digits would be the width of a field."""
    marks = {separator() for _ in range(100)}
    assert len(marks) == 100
    assert all(mark[0].isalpha() and mark.isalnum() for mark in marks)
