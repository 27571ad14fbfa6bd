"""Slurm accounting."""

import re
from pathlib import Path

import pytest

from cpsched import logs
from cpsched.errors import TraceError
from cpsched.logs.sacct.request import resource_request
from cpsched.logs.text import FilePosition
from cpsched.metrics.workload import describe
from cpsched.util.types import MISSING, UNBOUNDED, Status

GOOD = {
    "JobID": "7",
    "State": "COMPLETED",
    "Submit": "2024-03-01T10:00:00",
    "Start": "2024-03-01T10:01:00",
    "End": "2024-03-01T10:03:00",
    "Elapsed": "00:02:00",
    "Timelimit": "01:00:00",
    "ReqTRES": "cpu=4,mem=4G,node=2",
    "AllocTRES": "cpu=4,mem=4G,node=2",
}


def lines(*rows):
    """Return sacct output with the columns of ``GOOD``; each row says what differs."""
    names = list(GOOD)
    for row in rows:
        names += [name for name in row if name not in names]
    table = [names, *([{**GOOD, **row}.get(name, "") for name in names] for row in rows)]
    return "".join("|".join(cells) + "\n" for cells in table)


def test_a_job_is_its_cores_on_its_nodes(small_logs):
    workload = logs.read(small_logs / "slurm-22.sacct")
    assert workload.title == "slurm-22"
    assert workload.epoch == 1_709_287_199
    assert workload.layout == "units"
    assert workload.resources == ("core", "gpu", "mem")
    assert workload.job_id.tolist() == ["101_7", "100", "102+0", "103", "106", "107"]
    assert workload.submit.tolist() == [0, 1, 11, 11, 11, 11]
    assert workload.recorded_start.tolist() == [301, 301, 361, 361, MISSING, MISSING]
    assert workload.runtime.tolist() == [10, 97_384, 622, 600, 600, 600]
    assert workload.requested_time.tolist() == [MISSING, 172_800, 600, MISSING, 600, 600]
    # Jobs 101_7 and 103 asked for one and three cores, and got two and four.
    # 48 cores, 8 GPUs (not 16) and 192 GB on 4 nodes are 2 GPUs and 48 GB on each.
    assert workload.units.tolist() == [2, 48, 2, 4, 3, 3]
    assert workload.request.tolist() == [[1, 0, 0]] * 6
    assert workload.per_node.tolist() == [
        [0, 0, 4_096_000],
        [0, 2, 48 * 2**20],
        [0, 1, 0],
        [0, 0, 3 * 2**18],
        [0, 0, 0],
        [0, 0, 0],
    ]
    assert workload.nodes_min.tolist() == workload.nodes_max.tolist() == [1, 4, 2, 2, 1, 1]
    assert workload.constraint.decode() == [None, "v100&ib", None, None, None, None]
    queues = ["cpu", "gpu", "cpu", "cpu", "cpu", "cpu"]
    assert workload.queue.decode() == workload.partition.decode() == queues
    assert workload.user.decode() == ["bob", "ann", "bob", "cyd", "cyd", "cyd"]
    assert workload.group.decode() == ["chem", "phys", "chem", "chem", "chem", "chem"]
    assert workload.name.decode() == ["array job", "mpi", "het", "oom", "gone", "gone"]
    assert workload.array.decode() == ["101", None, None, None, None, None]
    assert workload.status.tolist() == [
        Status.CANCELLED,
        Status.COMPLETED,
        Status.TIMEOUT,
        Status.FAILED,
        Status.CANCELLED,
        Status.CANCELLED,
    ]
    # 106 and 107 were cancelled before they started.
    assert workload.cancel.tolist() == [*[MISSING] * 4, 361, 361]
    assert workload.set_aside == (("still running", 1), ("still waiting", 1))


def test_columns_of_older_slurms_are_read(small_logs):
    workload = logs.read(small_logs / "slurm-17.sacct")
    assert workload.job_id.tolist() == ["200", "201", "202", "203", "204"]
    assert workload.resources == ("core", "gpu", "mic", "mem", "gpu:tesla", "nvme")
    assert workload.requested_time.tolist() == [1800, MISSING, 1800, 1800, 1800]
    # Jobs 202 to 204 asked for one core and got four.
    assert workload.units.tolist() == [16, 4, 4, 4, 4]
    # Memory: 4 GB a core; 4000 MB a node; from step 202.0, 2 GB a node; all there is.
    assert workload.request[:, 3].tolist() == [4 * 2**20, 0, 0, 0, 0]
    assert workload.per_node.tolist() == [
        [0, 1, 0, 0, 0, 0],
        [0, 2, 0, 4_096_000, 2, 1],
        [0, 0, 1, 2 * 2**20, 0, 0],
        [0, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0],
    ]
    done, again, failed = Status.COMPLETED, Status.PREEMPTED, Status.FAILED
    assert workload.status.tolist() == [done, done, done, again, failed]
    assert workload.set_aside == (("step without its job", 1),)


def request(**row):
    """Return the shape of the columns given."""
    options = {name: row.pop(name) for name in [*row] if name[0].islower()}
    columns = {name.lower(): text for name, text in row.items()}
    return resource_request(columns, options, FilePosition(Path("log"), 1))


@pytest.mark.parametrize(
    ("row", "per_node"),
    [
        ({"ReqTRES": "cpu=4,node=2,gres/gpu=4"}, {"gpu": 2}),
        ({"ReqTRES": "cpu=4,node=2,gres/gpu=3"}, {"gpu": 2}),
        ({"ReqTRES": "cpu=4,node=2,gres/gpu:v100=4"}, {"gpu": 2, "gpu:v100": 2}),
        (
            {"ReqTRES": "cpu=4,node=1,gres/gpu:v100=1,gres/gpu:A100=2"},
            {"gpu": 3, "gpu:v100": 1, "gpu:a100": 2},
        ),
        (
            {"ReqTRES": "cpu=4,node=1,gres/gpu=3,gres/gpu:v100=1,gres/gpu:a100=2"},
            {"gpu": 3, "gpu:v100": 1, "gpu:a100": 2},
        ),
        # What it got has a type, whatever it asked for.
        ({"ReqTRES": "cpu=4", "AllocTRES": "cpu=4,node=1,gres/gpu:v100=1"}, {"gpu": 1}),
        (
            {"ReqTRES": "cpu=4,node=1,gres/gpu:a100_3g.20gb=1,gres/shard=2K"},
            {"gpu": 1, "gpu:a100_3g.20gb": 1, "shard": 2048},
        ),
        ({"ReqTRES": "cpu=4,node=1,gres/gpumem=1G,gres/gpuutil=50,billing=9,license/x=1"}, {}),
        ({"ReqTRES": "cpu=4", "AllocTRES": "cpu=8,node=2,gres/mic=2"}, {"mic": 1}),
        (
            {"NCPUS": "4", "NNodes": "2", "AllocGRES": "gpu:tesla:2(S:0,1),craynetwork:2"},
            {"gpu": 1, "craynetwork": 1},
        ),
        ({"NCPUS": "4", "NNodes": "1", "ReqGRES": "gpu"}, {"gpu": 1}),
        ({"NCPUS": "4", "NNodes": "1", "ReqGRES": "gpu:tesla"}, {"gpu": 1, "gpu:tesla": 1}),
        (
            {"NCPUS": "4", "NNodes": "1", "ReqGRES": "gpu:1g.5gb:3,gpu:2k"},
            {"gpu": 2048, "gpu:1g.5gb": 3},
        ),
        ({"NCPUS": "4", "NNodes": "1", "ReqGRES": "(null)"}, {}),
        ({"ReqTRES": "cpu=4,mem=3G,node=2"}, {"mem": 1.5 * 2**20}),
        ({"ReqTRES": "cpu=4,mem=3G,node=2", "ReqMem": "1Gn"}, {"mem": 2**20}),
        ({"ReqTRES": "cpu=4,mem=3G,node=2", "ReqMem": "2G"}, {"mem": 2**20}),
        ({"ReqTRES": "cpu=4,mem=3G,node=2", "ReqMem": "0n"}, {}),
    ],
)
def test_each_node_has_its_share(row, per_node):
    assert request(**row).per_node == per_node


def test_several_types_of_gpus_in_a_command_are_gpus():
    resources = request(NCPUS="4", NNodes="1", gpus="a100:2,v100:1")
    assert resources.per_node == {"gpu": 3, "gpu:a100": 2, "gpu:v100": 1}


def test_memory_of_a_core_belongs_to_the_unit():
    resources = request(NCPUS="4", NNodes="2", ReqMem="4000Mc")
    assert (resources.request, resources.per_node) == ({"core": 1, "mem": 4_096_000}, {})


def test_without_a_node_count_any_number_will_do():
    resources = request(ReqCPUS="4", ReqMem="1Gc")
    assert (resources.units, resources.nodes_min, resources.nodes_max) == (4, 1, UNBOUNDED)


def test_nodes_it_got_go_before_nodes_it_asked_for():
    resources = request(ReqTRES="cpu=4,node=1", AllocTRES="cpu=4,node=2", ReqNodes="1")
    assert (resources.nodes_min, resources.nodes_max) == (2, 2)


BAD_LINES = {
    "no state": ({"State": "12 %"}, "field State = '12 %': is not a state of a Slurm job"),
    "wrong limit": ({"Timelimit": "soon"}, "field Timelimit = 'soon': "),
    "negative limit": ({"TimelimitRaw": "-5"}, "field TimelimitRaw = '-5': must be from 0"),
    "no id": ({"JobID": ""}, "field JobID: must not be empty"),
    "no such day": ({"Start": "2024-02-30T10:00:00"}, "field Start = '2024-02-30T10:00:00': is no"),
    "absurd time": ({"Submit": "9" * 18}, "field Submit = '999999999999999999': must be from 0"),
    "wrong length": ({"Elapsed": "long"}, "field Elapsed = 'long': is not a length of time"),
    "wrong TRES": ({"ReqTRES": "cpu4"}, "field ReqTRES = 'cpu4': must be amounts"),
    "TRES twice": ({"ReqTRES": "cpu=4,cpu=8"}, "field ReqTRES = 'cpu=4,cpu=8': must be amounts"),
    "cores of words": ({"ReqTRES": "cpu=four"}, "field ReqTRES cpu = 'four': is not an amount"),
    "fewer cores than nodes": ({"ReqTRES": "cpu=1", "AllocTRES": "cpu=1,node=2"}, "field cores = 1: are fewer than the 2 nodes"),
    "wrong memory": ({"ReqMem": "4Gx"}, "field ReqMem = '4Gx': is not an amount"),
    "absurd memory": ({"ReqMem": "999999999Tn"}, "field mem = "),
    "wrong GRES": ({"ReqTRES": "cpu=4", "AllocTRES": "cpu=4,node=2", "ReqGRES": "gpu:2:3:4"}, "field ReqGRES = 'gpu:2:3:4': must be resources"),
    "share of unknown nodes": ({"ReqTRES": "cpu=4,mem=1G", "AllocTRES": ""}, "needs AllocTRES, NNodes"),
    "id of words": ({"JobID": "one"}, "field JobID = 'one': is not the id of a job"),
    "tasks of words": ({"JobID": "7_[a]"}, "field JobID = 'a': is not a list of tasks such as"),
    "NUL": ({"JobName": "a\0b"}, "holds a NUL byte"),
    "few switches": ({"SubmitLine": "sbatch --switches=few a"}, "--switches = 'few': is not a whole"),
    "switches some time": ({"SubmitLine": "sbatch --switches=1@soon a"}, "'soon': is not a length"),
    "negative segment": ({"SubmitLine": "sbatch --segment=-1 a"}, "--segment = '-1': must be from 0"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_LINES)
def test_a_line_that_cannot_be_true_is_named_or_counted(log, name):
    row, message = BAD_LINES[name]
    path = log("a.sacct", lines({"JobID": "1"}, row, {"JobID": "9"}))
    with pytest.raises(TraceError, match=re.escape(f"{path}:3: ") + ".*" + re.escape(message)):
        logs.read(path)
    workload = logs.read(path, skip_bad_lines=True)
    assert workload.job_id.tolist() == ["1", "9"]
    assert workload.set_aside == (("bad line", 1),)


TIMES = "times contradict each other (export with TZ=UTC)"
#: Rows that Slurm writes and that are no jobs: what they say, and why they are left out.
LEFT_OUT = {
    "a state of later": ({"State": "FOO"}, "state FOO"),
    "a flag alone": ({"State": "EXPEDITING"}, "state EXPEDITING"),
    "a failed node": ({"State": "RECONFIG_FAIL"}, "state RECONFIG_FAIL"),
    "a node that powers up": ({"State": "POWER_UP_NODE"}, "state POWER_UP_NODE"),
    "cut off, unclear": ({"State": "RE+"}, "state RE"),
    "no submit": ({"Submit": "Unknown"}, "ran at an unknown time"),
    "done without a start": ({"Start": "None"}, "ran at an unknown time"),
    "no length": ({"Elapsed": "", "End": "Unknown"}, "ran at an unknown time"),
    "starts before its submit": ({"Submit": "2024-03-01T10:02:00"}, TIMES),
    "ends before it starts": ({"End": "2024-03-01T08:00:00"}, TIMES),
    "runs longer than it was": ({"Elapsed": "02:00:00"}, TIMES),
    "no end": ({"Elapsed": "", "End": "2024-03-01T10:00:30"}, TIMES),
    "negative length": ({"ElapsedRaw": "-1"}, TIMES),
    "invalid length": ({"Elapsed": "INVALID", "End": "2024-03-01T10:00:30"}, TIMES),
    "cancelled too early": (
        {"State": "CANCELLED by 7", "Start": "None", "End": "2024-03-01T09:00:00"}, TIMES
    ),
    "no cores": ({"ReqTRES": "", "AllocTRES": "node=1"}, "no cores recorded"),
    "none cores": ({"ReqTRES": "", "AllocTRES": "cpu=0,node=1"}, "no cores recorded"),
    "never allocated": (
        {
            "ReqTRES": "", "AllocTRES": "", "NNodes": "0", "Eligible": "Unknown",
            "Elapsed": "00:00:00", "End": "2024-03-01T10:01:00",
        },
        "never ran",
    ),
    "cancelled, and no cores": (
        {"ReqTRES": "", "AllocTRES": "", "State": "CANCELLED", "Start": "None", "Elapsed": ""},
        "never ran",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LEFT_OUT)
def test_a_line_that_leaves_a_job_open_is_left_out_and_counted(log, name):
    row, reason = LEFT_OUT[name]
    workload = logs.read(log("a.sacct", lines({"JobID": "1"}, row, {"JobID": "9"})))
    assert workload.job_id.tolist() == ["1", "9"]
    assert workload.set_aside == ((reason, 1),)
    assert any(text.startswith(f"{reason}: ") and text.endswith("7") for _, text in workload.header)


@pytest.mark.parametrize(
    ("state", "status"),
    [
        ("COMPLETED", Status.COMPLETED),
        ("OUT_OF_ME+", Status.FAILED),
        ("CANCELLED+", Status.CANCELLED),
        ("CANCELLED by 1000", Status.CANCELLED),
        ("COMPLETED,EXPEDITING", Status.COMPLETED),
        ("COMPLETING,FAILED", Status.FAILED),
        ("DEADLINE", Status.FAILED),
        ("SPECIAL_EXIT", Status.PREEMPTED),
        ("", Status.UNKNOWN),
    ],
)
def test_a_state_may_be_cut_off_or_have_flags(log, state, status):
    workload = logs.read(log("a.sacct", lines({"State": state})))
    assert workload.status.tolist() == [status]
    flagged = ("Note", "states with the flag EXPEDITING: 1") in workload.header
    assert flagged == ("EXPEDITING" in state)


@pytest.mark.parametrize("row", [{"Timelimit": text} for text in ("00:00:00", "INVALID")])
def test_no_time_and_an_invalid_one_are_no_limit(log, row):
    """Slurm takes a limit of 0 for none."""
    workload = logs.read(log("a.sacct", lines(row, row | {"JobID": "8", "TimelimitRaw": "0"})))
    assert workload.requested_time.tolist() == [MISSING] * 2
    invalid = ("Note", "requested times that are INVALID: 2") in workload.header
    assert invalid == (row["Timelimit"] == "INVALID")


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("JobID|Start|Elapsed", "the header has no column Submit"),
        ("JobID|Submit|Elapsed", "the header has no column Start"),
        ("JobID|Elapsed", "the header has no column Submit, and no Start."),
        ("JobID|Submitted|Start|Elapsed", "Is it called 'submitted'?"),
        ("JobID|Submit|Start", "the header has no column ElapsedRaw or Elapsed or End"),
        ("JobName|Submit|Start|End", "is not a header of sacct --parsable2"),
        ("JobID|Submit|Start|End|End", "field end: is in the header twice"),
    ],
)
def test_a_header_without_a_needed_column_is_an_error(log, header, message):
    with pytest.raises(TraceError, match=re.escape(message)):
        logs.read(log("a.sacct", header + "\n"), skip_bad_lines=True)


def test_a_log_in_which_nothing_ran_is_an_error(log):
    path = log("a.sacct", lines({"State": "PENDING"}, {"State": "RUNNING", "JobID": "8"}))
    with pytest.raises(TraceError, match="no job in it: 1 still running, 1 still waiting"):
        logs.read(path)


def test_elapsed_counts_where_local_clocks_were_set_back(log):
    """From 02:50 to 02:10 in the night in which 03:00 became 02:00, so for 20 minutes."""
    row = {
        "Submit": "2024-10-27T02:00:00",
        "Start": "2024-10-27T02:50:00",
        "End": "2024-10-27T02:10:00",
        "Elapsed": "00:20:00",
    }
    assert logs.read(log("a.sacct", lines(row))).runtime.tolist() == [1200]
    exact = {name: text + "Z" if "T" in text else text for name, text in row.items()}
    with pytest.raises(TraceError, match="no job in it: 1 times contradict each other"):
        logs.read(log("b.sacct", lines(exact)))


def test_what_other_columns_tell(log):
    """Without Elapsed a job ran from start to end; without a state its status is unknown."""
    workload = logs.read(log("a.sacct", lines({"Elapsed": "", "State": ""})))
    assert workload.runtime.tolist() == [120]
    assert workload.status.tolist() == [Status.UNKNOWN]


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        ("PENDING", "still waiting"),
        ("COMPLETING", "still running"),
        ("REVOKED", "ran on another cluster"),
    ],
)
def test_states_of_jobs_that_have_not_ended_are_set_aside(log, state, reason):
    workload = logs.read(log("a.sacct", lines({}, {"JobID": "8", "State": state})))
    assert workload.set_aside == ((reason, 1),)


def test_no_node_allocated_is_not_divided_by(log):
    """``node=0`` says nothing of the nodes: what was asked for does, or the line is wrong."""
    asked = {"AllocTRES": "cpu=4,mem=4G,node=0,gres/gpu=2"}
    workload = logs.read(log("a.sacct", lines(asked)))
    assert workload.nodes_min.tolist() == [2]
    nobody = {**asked, "ReqTRES": "cpu=4,mem=4G"}
    with pytest.raises(
        TraceError, match=r"a\.sacct:2: field gpu = 2: also needs AllocTRES, NNodes or"
    ):
        logs.read(log("a.sacct", lines(nobody)))
    workload = logs.read(log("a.sacct", lines(nobody, {"JobID": "8"})), skip_bad_lines=True)
    assert (workload.job_id.tolist(), dict(workload.set_aside)) == (["8"], {"bad line": 1})


@pytest.mark.parametrize(
    ("command", "asked"),
    [
        ("sbatch job.sh", (0, 0, MISSING)),
        ("sbatch --switches=2 job.sh", (0, 2, 300)),
        ("srun -N 4 --switches 1@10:00 ./a", (0, 1, 600)),
        ("sbatch --switches=1@90 --segment=12 job.sh", (12, 1, 5400)),
        ("sbatch --switches=1@1-0 job.sh", (0, 1, 86400)),
        ("sbatch --switches=3@UNLIMITED --segment 4 job.sh", (4, 3, MISSING)),
        ("sbatch job.sh my--switches=2", (0, 0, MISSING)),
    ],
)
def test_segments_and_switches_are_in_the_command(command, asked, tmp_path):
    (path := tmp_path / "a.sacct").write_text(lines({"SubmitLine": command}))
    workload = logs.read(path)
    locality = (workload.segment[0], workload.max_switches[0], workload.switch_wait[0])
    assert locality == asked


@pytest.mark.parametrize(
    ("row", "cores", "exclusive"),
    [
        ({"ReqTRES": "cpu=1,node=1", "AllocTRES": "cpu=64,node=1"}, 1, True),
        ({"ReqTRES": "cpu=1,node=1", "AllocTRES": "cpu=4,node=1", "exclusive": ""}, 1, True),
        ({"ReqTRES": "cpu=4,node=2", "AllocTRES": "cpu=8,node=2", "exclusive": "user"}, 8, False),
        # Two threads of a core, or four.
        ({"ReqTRES": "cpu=1,node=1", "AllocTRES": "cpu=2,node=1"}, 2, False),
        ({"ReqTRES": "cpu=1,node=1", "AllocTRES": "cpu=4,node=1"}, 4, False),
        ({"ReqTRES": "cpu=8,node=1", "AllocTRES": "cpu=4,node=1"}, 8, False),
        ({"ReqTRES": "cpu=8,node=1,mem=4G", "mem": "0"}, 8, False),
        ({"ReqTRES": "cpu=8,node=1", "ReqMem": "0", "mem": "0"}, 8, True),
        ({"ReqTRES": "cpu=8,node=1", "ReqMem": "0"}, 8, False),
    ],
)
def test_a_job_alone_on_its_nodes_has_what_it_asked_for(row, cores, exclusive):
    resources = request(**row)
    assert (resources.units, resources.exclusive) == (cores, exclusive)


@pytest.mark.parametrize(
    ("row", "memory"),
    [
        # All of a node's memory, as Slurm reports --mem=0.
        ({"ReqTRES": "cpu=1,mem=16000M,node=1", "AllocTRES": "cpu=1,mem=16000M,node=1"}, 16000),
        ({"ReqTRES": "cpu=1,node=2", "AllocTRES": "cpu=2,mem=32000M,node=2", "ReqMem": "0n"}, 16000),
        # The memory of a core for each of its two threads.
        ({"ReqTRES": "cpu=1,mem=5M", "AllocTRES": "cpu=2,mem=10M,node=1", "ReqMem": "5M"}, 10),
        # Alone on a node of 64 cores it keeps to what it asked for.
        ({"ReqTRES": "cpu=1,mem=5M", "AllocTRES": "cpu=64,mem=320M,node=1", "ReqMem": "5M"}, 5),
    ],
)  # fmt: skip
def test_memory_is_what_a_job_holds(row, memory):
    assert request(**row).per_node == {"mem": 1024 * memory}


@pytest.mark.parametrize(
    ("row", "gpus"),
    [
        ({"gres": "gpu:2"}, {"gpu": 2}),
        ({"gres": "gpu:tesla:2,gpu:a100:1"}, {"gpu": 3, "gpu:tesla": 2, "gpu:a100": 1}),
        ({"gres": "gres/gpu:a100=4"}, {"gpu": 4, "gpu:a100": 4}),
        ({"gpus-per-node": "a100:2"}, {"gpu": 2, "gpu:a100": 2}),
        ({"gpus-per-node": "2"}, {"gpu": 2}),
        ({"gpus": "3"}, {"gpu": 2}),
        ({"gres": "none"}, {}),
        ({"gres": "gpu:2", "ReqTRES": "cpu=4,gres/gpu=2,node=2"}, {"gpu": 1}),
    ],
)
def test_gpus_that_accounting_does_not_count_are_in_the_command(row, gpus):
    resources = request(**{"ReqTRES": "cpu=4,node=2", **row})
    assert resources.per_node == gpus


@pytest.mark.parametrize(
    ("options", "typed"),
    [
        ({"gres": "gpu:v100:2"}, {"gpu:v100": 2}),
        ({"gpus": "v100:4"}, {"gpu:v100": 2}),
        ({"gpus-per-task": "v100:1"}, {"gpu:v100": 2}),
        ({"gres": "gpu:v100:1,gpu:a100:1"}, {"gpu:v100": 1, "gpu:a100": 1}),
        ({"gres": "gpu:2"}, {}),
        ({"gres": "mic:x:2"}, {}),
        ({"gres": "gpu:v100:2:3"}, {}),
    ],
)
def test_types_that_accounting_does_not_track_are_in_the_command(options, typed):
    resources = request(ReqTRES="cpu=4,node=2,gres/gpu=4", **options)
    assert resources.per_node == {"gpu": 2, **typed}


@pytest.mark.parametrize(
    ("nodes", "bounds"),
    [("2", (3, 3)), ("2-4", (2, 4)), ("2-", (2, UNBOUNDED)), ("4-8", (3, 3)), ("n1,n2", (3, 3))],
)
def test_a_range_of_nodes_is_in_the_command(nodes, bounds):
    resources = request(AllocTRES="cpu=6,node=3", nodes=nodes)
    assert (resources.nodes_min, resources.nodes_max) == bounds


def test_a_run_of_a_real_slurm_is_read(small_logs):
    """Slurm 22.05.8 with -D; see the jobs' names for what each was made to do."""
    workload = logs.read(small_logs / "slurm-22.05.8.sacct")
    rows = {name: at for at, name in enumerate(workload.job_id.tolist())}
    assert workload.set_aside == (("still waiting", 2),)
    assert len(workload) == 35
    assert workload.name.decode()[rows["1"]] == "odd|name"
    assert workload.array_limit[[rows["3_1"], rows["3_6"], rows["25_4"]]].tolist() == [2, 2, 2]
    assert workload.begin[rows["3_5"]] == MISSING
    assert workload.dependency[rows["4"]] == rows["1"]
    assert workload.begin[[rows["4"], rows["5"], rows["12#2"], rows["25_1"]]].tolist() == [
        *(MISSING, 25, 131, 3600),
    ]
    assert workload.exclusive[[rows["6"], rows["7"]]].tolist() == [True, False]
    assert workload.units[[rows["6"], rows["7"], rows["8"], rows["9"]]].tolist() == [1, 8, 2, 6]
    assert workload.status[rows["12"]] == Status.PREEMPTED
    assert workload.licenses.decode()[rows["13"]] == "matlab:2"
    assert workload.queue.decode()[rows["14"]] == "normal,short"
    assert workload.partition.decode()[rows["14"]] == "short"
    assert workload.reservation.decode()[rows["15"]] == "maint"
    assert (workload.nodes_min[rows["19"]], workload.nodes_max[rows["19"]]) == (2, 3)
    assert workload.cancel[[rows["25_5"], rows["34"]]].tolist() == [54, 54]
    assert ("excluded: still waiting", "2 (1.6 core-hours; 33, 35)") in describe(workload)
    header = [text for key, text in workload.header if key == "Note"]
    assert "components of heterogeneous jobs: 2" in header
    assert "steps: 30" in header


def test_preemption_in_a_real_slurm_is_read(small_logs):
    """Job 1 is preempted and queued again; tasks 7 to 98 of array 3 never start."""
    workload = logs.read(small_logs / "slurm-22.05.8-preempted.sacct")
    rows = {name: at for at, name in enumerate(workload.job_id.tolist())}
    assert list(rows) == ["1", "2", *(f"3_{task}" for task in range(0, 99, 7)), "4", "5"]
    assert workload.status[rows["1"]] == Status.PREEMPTED
    assert workload.runtime[rows["1"]] == 7
    # Task 0 ran until it was cancelled; the others and job 4 waited.
    waited = [name for name, row in rows.items() if workload.cancel[row] != MISSING]
    assert waited == [*(f"3_{task}" for task in range(7, 99, 7)), "4"]
    assert set(workload.array_limit[[rows["3_0"], rows["3_98"]]].tolist()) == {3}
    assert workload.queue.decode()[rows["4"]] == "normal,short"
    assert dict(workload.set_aside) == {"still running": 1}


@pytest.mark.parametrize(
    ("row", "gpus"),
    [
        # A whole node comes with its GPUs, whether they were asked for or not.
        ({"ReqTRES": "cpu=4,node=1", "exclusive": ""}, 0),
        ({"ReqTRES": "cpu=1,node=1"}, 0),
        ({"ReqTRES": "cpu=4,gres/gpu=1,node=1", "exclusive": ""}, 1),
        # Only AllocTRES says what this one asked for.
        ({"ReqTRES": "cpu=16,node=1"}, 4),
        ({"ReqTRES": "", "exclusive": ""}, 4),
    ],
)  # fmt: skip
def test_a_job_has_the_gpus_that_it_asked_for(row, gpus):
    resources = request(**row, AllocTRES="cpu=16,gres/gpu=4,node=1")
    assert resources.per_node == ({"gpu": gpus} if gpus else {})


def test_its_json_tells_the_same(small_logs):
    """What JSON of 22.05 lacks is the command, so that some is known from Eligible alone."""
    workload = logs.read(small_logs / "slurm-22.05.8.json")
    text = logs.read(small_logs / "slurm-22.05.8.sacct")
    rows = [text.job_id.tolist().index(name) for name in workload.job_id.tolist()]
    assert len(rows) == 19
    for column in ("runtime", "requested_time", "units", "nodes_min", "status", "cancel"):
        assert getattr(workload, column).tolist() == getattr(text, column)[rows].tolist(), column
    for column in ("user", "group", "partition", "name", "qos", "licenses", "array"):
        known = getattr(text, column).decode()
        assert getattr(workload, column).decode() == [known[row] for row in rows], column
    assert workload.set_aside == (("still waiting", 1),)


def test_json_of_later_releases_is_read(log):
    """Numbers are objects, states lists, and the command is there."""
    text = """{"jobs": [{
      "account": "phys", "allocation_nodes": 2,
      "array": {"job_id": 7, "limits": {"max": {"running": {"tasks": 3}}}, "task": "",
                "task_id": {"set": true, "infinite": false, "number": 4}},
      "association": {"account": "phys", "user": "ann"}, "constraints": "ib",
      "time": {"elapsed": 60, "eligible": 1709287200, "end": 1709287270, "start": 1709287210,
               "submission": 1709287200, "limit": {"set": true, "infinite": false, "number": 30}},
      "flags": ["STARTED_ON_BACKFILL"], "het": {"job_id": 0, "job_offset": {"set": false}},
      "job_id": 12, "name": "mpi", "partition": "cpu", "qos": "high", "licenses": "matlab:2",
      "reservation": {"id": 0, "name": ""}, "state": {"current": ["COMPLETED"], "reason": "None"},
      "submit_line": "sbatch --nice=7 -p cpu,gpu job.sh",
      "tres": {"allocated": [{"type": "cpu", "name": "", "count": 8}, {"type": "mem", "count": 8000},
                             {"type": "node", "count": 2},
                             {"type": "gres", "name": "gpu:a100", "count": 4}], "requested": []}
    }, {"job_id": 13, "het": {"job_id": 13, "job_offset": {"set": true, "number": 1}},
      "time": {"elapsed": 0, "end": 1709287290, "start": 0, "submission": 1709287200,
               "eligible": 1709287200, "limit": {"set": false, "infinite": true, "number": 0}},
      "state": {"current": ["CANCELLED"]}, "user": "bob", "required": {"CPUs": 1},
      "tres": {"requested": [{"type": "cpu", "count": 1}, {"type": "node", "count": 1}]}}],
      "meta": {"slurm": {"release": "24.05"}}}"""
    workload = logs.read(log("a.json", text))
    assert workload.job_id.tolist() == ["7_4", "13+1"]
    assert workload.units.tolist() == [8, 1]
    assert workload.requested_time.tolist() == [1800, MISSING]
    assert (workload.resources, workload.per_node[0].tolist()) == (
        *(("core", "gpu", "mem"), [0, 2, 4_096_000]),
    )
    assert (workload.array_limit.tolist(), workload.nice.tolist()) == ([3, 0], [7, 0])
    assert workload.queue.decode() == ["cpu,gpu", None]
    assert (workload.user.decode(), workload.qos.decode()) == (["ann", "bob"], ["high", None])
    assert workload.cancel.tolist() == [MISSING, 90]
    blank = logs.read(log("b.json", text.replace('["COMPLETED"]', '" "')))
    assert blank.status.tolist()[0] == Status.UNKNOWN


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"jobs": [', "is not JSON: it ends or breaks after 0 jobs"),
        ('{"jobs": [{"job_id": 5, "time"', r"is not JSON \(.*\(jobs\[0\]\)"),
        ('{"jobs": [' + '{"time":' * 100_000, "is not JSON"),
        ('{"jobs": 5}', "has no list of jobs"),
        ('{"jobs": [{"job_id": 5}]}', "Use sacct --json"),
        ('{"jobs": [{"job_id": 5, "time": {}, "state": "5 %"}]}', r"Slurm job \(jobs\[0\]\)"),
    ],
)
def test_json_that_is_something_else_is_one_line(log, text, message):
    with pytest.raises(TraceError, match=message):
        logs.read(log("a.json", text))


def test_the_guide_loads_a_converted_log_as_it_says(data, tmp_path, monkeypatch):
    """Text and JSON of the same jobs; the Python of the page is run."""
    guide = Path(__file__).resolve().parents[2] / "docs/guides/read-a-log.md"
    code = next(
        block
        for block in re.findall(r"```python\n(.*?)```", guide.read_text("utf-8"), re.DOTALL)
        if "march.parquet" in block
    )
    monkeypatch.chdir(tmp_path)
    for ending in ("sacct", "json"):
        workload = logs.read(data / "traces" / f"slurm-22.05.8.{ending}")
        logs.write(workload, tmp_path / "march.parquet")
        names: dict = {}
        exec(code, names)
        jobs = names["jobs"]
        assert len(jobs) == len(workload)
        assert jobs["submitted"].iloc[0].timestamp() == workload.epoch + workload.submit[0]
