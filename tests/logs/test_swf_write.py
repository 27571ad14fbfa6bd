"""Writing the Standard Workload Format, and reading it back."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpsched import logs
from cpsched.errors import TraceError
from cpsched.model.workload import Workload
from cpsched.util.types import MAX_TIME, MISSING, Status


def fields(path):
    """Return the job lines of a file as numbers."""
    lines = path.read_text().splitlines()
    return [[int(value) for value in line.split()] for line in lines if not line.startswith(";")]


def notes(path):
    """Return the notes of a file's header."""
    lines = path.read_text().splitlines()
    return [line.removeprefix("; Note: ") for line in lines if line.startswith("; Note: ")]


def test_a_log_reads_back_equal(small_logs, tmp_path, differences):
    read = logs.read(small_logs / "small.swf")
    path = tmp_path / "small.swf"
    logs.write(read, path)
    # The rows set aside cannot come back; the header says that there were some.
    assert set(differences(read, logs.read(path))) == {"set_aside", "header"}
    assert notes(path)[1:] == ["excluded: 1 never ran", "excluded: 1 no processors"]
    assert logs.read(path).header[:7] == read.header


def test_units_become_processors_and_the_header_says_so(two_jobs, tmp_path):
    path = tmp_path / "a.swf"
    both = two_jobs(
        resources=("core", "gpu", "mem"),
        request=[[4, 0, 1000], [1, 1, 0]],
        per_node=[[0, 0, 0], [1, 0, 3]],
        nodes_min=[1, 2],
    )
    logs.write(both, path)
    # Job 1: 2 x 4 cores, 2 x 1000 KB / 8. Job 2: 2 x 1 + 1 on each of 2 nodes, 2 x 3 KB / 4.
    assert [(row[4], row[7], row[9]) for row in fields(path)] == [(8, 8, 250), (4, 4, 2)]
    assert notes(path) == [
        "processors = all cores of a job, without their placement on nodes",
        "requests for gpu are not written",
    ]


def test_strings_are_numbered_and_queues_listed(two_jobs, tmp_path):
    path = tmp_path / "a.swf"
    named = two_jobs(
        job_id=["7[1].pbs", "7[2].pbs"],
        queue=["debug", "long"],
        user=["ann", None],
        group=["12", "3"],
    )
    logs.write(named, path)
    assert [row[0] for row in fields(path)] == [1, 2]
    assert [row[11:16] for row in fields(path)] == [[1, 12, -1, 1, -1], [-1, 3, -1, 2, -1]]
    text = path.read_text()
    assert "; Queue: 1 debug\n; Queue: 2 long\n" in text
    assert "; Note: users are numbered in order of appearance\n" in text
    assert "ann" not in text


def test_repeated_job_ids_are_numbered(two_jobs, tmp_path):
    logs.write(two_jobs(job_id=["1", "1"]), tmp_path / "a.swf")
    assert logs.read(tmp_path / "a.swf").job_id.tolist() == ["1", "2"]


def test_what_swf_has_no_code_for_is_noted(two_jobs, tmp_path):
    path = tmp_path / "a.swf"
    logs.write(
        two_jobs(
            status=[Status.TIMEOUT, Status.UNKNOWN],
            requested_time=[60, 60],
            requested_time_assumed=[True, False],
            recorded_start=[3, 4],
        ),
        path,
    )
    first, second = fields(path)
    assert (first[2], first[8], first[10]) == (3, -1, 0)
    assert (second[2], second[8], second[10]) == (-1, 60, -1)
    assert notes(path)[1:] == [
        "1 recorded start(s) before the submit are written as unknown",
        "1 assumed requested time(s) written as unknown",
        "1 timeout(s) are written as status 0",
    ]


def test_hostile_header_text_cannot_become_a_job(two_jobs, tmp_path):
    path = tmp_path / "a.swf"
    line = " ".join(["1"] * 18)
    logs.write(two_jobs(header=[("Note", f"x\n{line}\r{line}\u2028{line}\0")]), path)
    assert len(logs.read(path)) == 2


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"resources": ("gpu",)}, r"SWF counts cores, and the log has none \(only gpu\)"),
        ({"request": [[4], [0]]}, "SWF counts cores, and job 2 asks for none"),
    ],
)
def test_a_workload_without_cores_cannot_be_written(two_jobs, tmp_path, columns, message):
    with pytest.raises(TraceError, match=message):
        logs.write(two_jobs(**columns), tmp_path / "a.swf")
    assert list(tmp_path.iterdir()) == []


NUMERALS = st.one_of(st.none(), st.integers(0, 2**53).map(str))


@st.composite
def processor_workloads(draw):
    """Any workload that SWF can hold."""
    num_jobs = draw(st.integers(1, 8))

    def column(values):
        return draw(st.lists(values, min_size=num_jobs, max_size=num_jobs))

    submit = np.array(column(st.integers(0, MAX_TIME)))
    waits = column(st.one_of(st.none(), st.integers(0, MAX_TIME)))
    memory = draw(st.booleans())
    request = [[1, kb] if memory else [1] for kb in column(st.integers(0, 2**20))]
    epoch = draw(st.one_of(st.none(), st.integers(0, MAX_TIME)))
    header = [("Computer", "Toy"), ("", "more of it")]
    return Workload.build(
        title="any",
        layout="processors",
        epoch=epoch,
        header=header if epoch is None else [("UnixStartTime", str(epoch)), *header],
        resources=("core", "mem") if memory else ("core",),
        job_id=draw(
            st.lists(
                st.integers(0, 2**53).map(str), min_size=num_jobs, max_size=num_jobs, unique=True
            )
        ),
        submit=submit,
        recorded_start=[
            MISSING if wait is None else int(start) + wait
            for start, wait in zip(submit, waits, strict=True)
        ],
        runtime=column(st.integers(0, MAX_TIME)),
        units=column(st.integers(1, 2**31 - 2)),
        request=request,
        requested_time=column(st.one_of(st.just(MISSING), st.integers(1, MAX_TIME))),
        status=column(st.sampled_from([-1, 0, 1, 5])),
        **{name: column(NUMERALS) for name in ("queue", "partition", "user", "name", "group")},
    )


@settings(max_examples=60)
@given(original=processor_workloads(), name=st.sampled_from(["any.swf", "any.swf.gz"]))
def test_everything_swf_can_hold_reads_back_equal(tmp_path_factory, differences, original, name):
    path = tmp_path_factory.mktemp("swf") / name
    logs.write(original, path)
    assert differences(original, logs.read(path)) == []
    assert logs.read(path).digest() == original.digest()
