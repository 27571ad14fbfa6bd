"""
What Slurm prints, read back: recorded from 22.05, and as documented of later versions.

Recorded: ``squeue``, ``sinfo`` and ``scontrol`` of Slurm 22.05.8 with ``xMARKMARKMARK`` as the
separator. Of later versions the tests have what the manual of ``squeue`` says.
"""

import pytest

from cpsched.slurm.live.fields import (
    JOB_FIELDS,
    NODE_FIELDS,
    closed_nodes,
    details_of,
    gres_of,
    job_of,
    records,
    separator,
)
from cpsched.slurm.live.snapshot import Placed, UnreadableError, in_order

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
    assert details_of(lines["3"], jobs["3"])["excluded"] == ("node001",)
    assert details_of(lines["5"], jobs["5_1"])["array_limit"] == 2
    assert details_of(lines["6"], jobs["6"])["placed"] == (
        Placed("node034", 16, 15904 * 1024, {"gpu": 2}),
        Placed("node035", 4, 3976 * 1024, {"gpu": 2}),
    )
    # Its name says that it holds another node: then nothing is believed.
    assert details_of(lines["1"], jobs["1"])["placed"] == ()


def test_sinfo_of_22_05(recorded):
    """A node that is drained and one that is down."""
    rows = records(recorded("sinfo-22.05.txt"), NODE_FIELDS, MARK)
    assert closed_nodes(rows) == {"node002", "node003"}


def test_components_of_heterogeneous_jobs_are_known_as_such(recorded):
    """They hold nodes as any job, and are nobody's to start alone."""
    row = next(records(recorded("squeue-22.05.txt"), JOB_FIELDS, MARK))
    assert not job_of(row).is_part
    assert job_of({**row, "HetJobID": "7"}).is_part


@pytest.mark.parametrize(
    ("text", "amounts"),
    [
        ("gres:gpu:2", {"gpu": 2}), ("gres/gpu=2", {"gpu": 2}), ("gres/gpu:2", {"gpu": 2}),
        ("gpu:a100:2(IDX:0-1),gpu:v100:1", {"gpu": 3, "gpu:a100": 2, "gpu:v100": 1}),
        ("gres:gpu", {"gpu": 1}), ("N/A", {}), ("gpu:1g.5gb:2", {"gpu": 2, "gpu:1g.5gb": 2}),
        ("gres:gpu:1,gres:mic:2", {"gpu": 1, "mic": 2}),
    ],
)  # fmt: skip
def test_generic_resources_of_all_versions(text, amounts):
    """22.05 writes gres:gpu:2, 23.11 gres/gpu:2, 24.11 gres/gpu=2."""
    assert gres_of(text) == amounts


def test_a_cut_off_answer_is_not_read(recorded):
    """Nor one with a value that makes no sense."""
    text = recorded("squeue-22.05.txt")
    with pytest.raises(UnreadableError, match="ends within a record"):
        squeue(text[: len(text) // 2])
    with pytest.raises(UnreadableError, match="job '.*': NumNodes 'many' is not an amount"):
        squeue(text.replace(f"{MARK}2{MARK}", f"{MARK}many{MARK}"))
    with pytest.raises(UnreadableError, match="fields, must have"):
        squeue(text.replace(MARK, "", 1))


def test_separators_differ_and_begin_with_a_letter():
    """Digits would be the width of a field."""
    marks = {separator() for _ in range(100)}
    assert len(marks) == 100
    assert all(mark[0].isalpha() and mark.isalnum() for mark in marks)
