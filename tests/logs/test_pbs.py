"""Accounting logs of PBS Pro and Torque."""

import re
from pathlib import Path

import pytest

from cpsched import logs
from cpsched.errors import TraceError
from cpsched.logs.collect import NotAJobError
from cpsched.logs.pbs.request import request_of
from cpsched.logs.text import FilePosition
from cpsched.util.types import MISSING, UNBOUNDED, Status

HEAD = "03/31/2014 14:05:00;E;7.server;"
RUN = "user=ann ctime=100 start=150 end=250 "
GOOD = HEAD + RUN + "Resource_List.select=1:ncpus=4 Resource_List.walltime=00:10:00 Exit_status=0"


def test_a_pbs_pro_log_reads_as_chunks_on_nodes(small_logs):
    workload = logs.read(small_logs / "pbspro.acct")
    assert workload.title == "pbspro"
    assert workload.epoch == 1_396_248_660
    assert workload.layout == "units"
    assert workload.resources == ("core", "gpu", "mic", "mem")
    assert [job_id.split(".")[0] for job_id in workload.job_id] == [
        "498504[1]",
        "498504[2]",
        "498503",
        "498508",
    ]
    assert workload.submit.tolist() == [0, 0, 10, 50]
    assert workload.recorded_start.tolist() == [7482] * 4
    assert workload.runtime.tolist() == [1800, 10, 11_186, 0]
    assert workload.requested_time.tolist() == [1800, 1800, 14_400, 1800]
    assert workload.units.tolist() == [1, 1, 2, 2]
    assert workload.request.tolist() == [
        [4, 0, 1, 524_288],
        [4, 0, 0, 0],
        [8, 1, 0, 2**20],
        [1, 0, 0, 0],
    ]
    # pack, free, scatter of two chunks, and nothing said.
    assert workload.nodes_min.tolist() == [1, 1, 2, 1]
    assert workload.nodes_max.tolist() == [1, UNBOUNDED, 2, UNBOUNDED]
    assert workload.exclusive.tolist() == [False, False, True, False]
    assert workload.constraint.decode() == ["arch=linux:vntype=mic", None, None, None]
    assert workload.user.decode() == ["bob", "bob", "ann", "cyd"]
    assert workload.group.decode() == ["RConsole Users", "RConsole Users", "phys", "chem"]
    assert workload.name.decode() == ["my job 1", 'it is "x"', "STDIN", "fails"]
    # Killed when its time was over; killed before; done; exit code 1.
    assert workload.status.tolist() == [
        Status.TIMEOUT,
        Status.CANCELLED,
        Status.COMPLETED,
        Status.FAILED,
    ]


def test_records_that_are_no_jobs_are_counted(small_logs):
    workload = logs.read(small_logs / "pbspro.acct")
    assert workload.header[0] == ("Records", "E 7, L 1, Q 1, S 1")
    assert {text.partition(":")[0] for key, text in workload.header if key == "Excluded"} == {
        "array parent",
        "heterogeneous chunks",
        "never ran",
    }
    assert workload.set_aside == (
        ("array parent", 1),
        ("heterogeneous chunks", 1),
        ("never ran", 1),
    )


def test_a_torque_log_reads_as_chunks_on_nodes(small_logs):
    workload = logs.read(small_logs / "torque.acct")
    assert workload.submit.tolist() == [0, 5, 15, 15]
    # The second has no end, but says for how long it ran.
    assert workload.runtime.tolist() == [71, 120, 34, 34]
    assert workload.requested_time.tolist() == [1000, 86_400, MISSING, MISSING]
    assert workload.units.tolist() == [2, 6, 1, 1]
    assert workload.resources == ("core", "gpu", "mem")
    # 100 MB for each of 2 cores; a sixth of 6001 KB; nothing; 1000 words of 8 bytes.
    assert workload.request.tolist() == [[2, 1, 204_800], [1, 0, 1001], [4, 0, 0], [8, 0, 8]]
    assert workload.exclusive.tolist() == [True, False, False, False]
    assert workload.constraint.decode() == ["bigmem", None, "ign7", None]
    assert workload.status.tolist() == [
        Status.COMPLETED,
        Status.TIMEOUT,
        Status.CANCELLED,
        Status.UNKNOWN,
    ]


def request(**resources):
    """Return the shape of a Resource_List."""
    return request_of(resources, FilePosition(Path("log"), 1)).resources


@pytest.mark.parametrize(
    ("select", "units", "amounts"),
    [
        ("4", 4, {"core": 1}),
        ("ncpus=4", 1, {"core": 4}),
        ("2:ncpus=8:mem=1gb+1:ncpus=8:mem=1024mb", 3, {"core": 8, "mem": 2**20}),
        ("1:ncpus=1:ngpus=0+1:ncpus=1", 2, {"core": 1}),
        ("1:ncpus=0:mem=1b", 1, {"core": 0, "mem": 1}),
        ("2:mpiprocs=8:ompthreads=2:ncpus=16", 2, {"core": 16}),
    ],
)
def test_select_is_so_many_equal_chunks(select, units, amounts):
    resources = request(select=select)
    assert (resources.units, resources.request) == (units, amounts)


def test_a_chunk_without_cores_or_memory_has_its_share_of_the_total():
    assert request(select="3", ncpus="6", mem="4kb").request == {"core": 2, "mem": 2}


def test_select_goes_before_the_older_ways_to_ask():
    resources = request(select="1:ncpus=4", nodes="2:ppn=9", procs="7", ncpus="5")
    assert (resources.units, resources.request) == (1, {"core": 4})


@pytest.mark.parametrize(
    "select", ["1:ncpus=4+1:ncpus=8", "1:ncpus=4:host=a+1:ncpus=4:host=b", "1:mem=1gb+1:mem=2gb"]
)
def test_different_chunks_cannot_be_expressed(select):
    with pytest.raises(NotAJobError, match="heterogeneous chunks"):
        request(select=select)


@pytest.mark.parametrize(
    ("place", "bounds", "exclusive"),
    [
        ("free", (1, UNBOUNDED), False),
        ("pack", (1, 1), False),
        ("scatter", (3, 3), False),
        ("vscatter:shared", (3, 3), False),
        ("pack:excl", (1, 1), True),
        ("exclhost", (1, UNBOUNDED), True),
        ("free:group=switch", (1, UNBOUNDED), False),
    ],
)
def test_place_bounds_the_nodes(place, bounds, exclusive):
    resources = request(select="3:ncpus=1", place=place)
    assert ((resources.nodes_min, resources.nodes_max), resources.exclusive) == (bounds, exclusive)


BAD_LINES = {
    "hello": "is not an accounting record",
    "E;7.server;user=ann": "is not an accounting record",
    GOOD.replace(";E;", ";END;"): "is not an accounting record",
    HEAD[:-1]: "is not an accounting record",
    GOOD + "\0": "holds a NUL byte",
}
BAD_RECORDS = {
    HEAD + "hello " + RUN: "field message = 'hello': must be key=value",
    GOOD + " user=root": "field user = 'root': the key is given twice",
    GOOD.replace("ctime=100", ""): "which give the submit time",
    GOOD.replace("end=250", ""): "has neither end nor resources_used.walltime",
    GOOD.replace("end=250", "end=149"): "field end = 149: is before",
    GOOD.replace("ctime=100", "ctime=151"): "field start = 150: is b",
    GOOD.replace("end=250", "end=250.5"): "field end = '250.5': is not a whole number",
    GOOD.replace("start=150", "start=-1"): "field start = '-1': must be from 0",
    GOOD.replace("end=250", "end=1" + "0" * 18): "field end = '1000000000000000000'",
    GOOD.replace("00:10:00", "00:00:00"): "field requested time = 0: must be",
    GOOD.replace("00:10:00", "long"): "Resource_List.walltime = 'long': is no",
    GOOD.replace("select=1:", "select=0:"): "Resource_List.select = '0': must be",
    GOOD.replace("select=1:ncpus=4", "select=1::"): "chunks are written N:",
    GOOD.replace("ncpus=4", "ncpus=four"): "field select ncpus = 'four'",
    GOOD.replace("ncpus=4", "ncpus=-4"): "must not be negative",
    GOOD.replace("ncpus=4", "mem=big"): "field select mem = 'big': is not an amount",
    GOOD.replace("ncpus=4", "mem=999999999pb"): "field mem = ",
    GOOD.replace("select=1:ncpus=4", "nodes=1:ppn=4:"): "terms are written N:ppn",
    GOOD.replace("Exit_status=0", "Exit_status=ok"): "Exit_status = 'ok'",
    GOOD.replace("ncpus=4", "ncpus=4:ncpus=8"): "field select ncpus = '8': is given twice",
    GOOD.replace("select=1:ncpus=4", "ncpus=2 Resource_List.nodect=3"): "less than the 3 nodes",
    GOOD.replace(
        "ncpus=4", "ncpus=4 Resource_List.ngpus=2 Resource_List.gpu=3"
    ): "gpu = 3: differs",
}


@pytest.mark.parametrize("record", BAD_LINES)
def test_a_line_that_is_no_record_stops_the_log_or_is_counted(log, record):
    first, last = GOOD.replace("7.server", "1.server"), GOOD.replace("7.server", "9.server")
    path = log("a.acct", f"{first}\n\n{record}\n{last}\n")
    with pytest.raises(
        TraceError, match=re.escape(f"{path}:3: ") + ".*" + re.escape(BAD_LINES[record])
    ):
        logs.read(path)
    workload = logs.read(path, skip_bad_lines=True)
    assert workload.job_id.tolist() == ["1.server", "9.server"]
    assert workload.set_aside == (("bad line", 1),)


@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize("record", BAD_RECORDS)
def test_a_record_that_cannot_be_true_is_excluded_and_named(log, record, skip):
    first, last = GOOD.replace("7.server", "1.server"), GOOD.replace("7.server", "9.server")
    workload = logs.read(log("a.acct", f"{first}\n\n{record}\n{last}\n"), skip_bad_lines=skip)
    assert workload.job_id.tolist() == ["1.server", "9.server"]
    assert workload.set_aside == (("unreadable record", 1),)
    named = dict(workload.header)["Excluded"]
    assert named.startswith("unreadable record: line 3: ")
    assert BAD_RECORDS[record].removeprefix("field ") in named


def test_a_log_of_unreadable_records_alone_says_so(log):
    path = log("a.acct", GOOD.replace("ncpus=4", "ncpus=four") + "\n")
    with pytest.raises(TraceError, match="no job in it: 1 unreadable record"):
        logs.read(path)


def test_a_log_in_which_no_job_ended_is_an_error(log):
    path = log("a.acct", "03/31/2014 08:51:10;Q;498503.node129;queue=parallel\n")
    with pytest.raises(TraceError, match=r"no job in it: 1 still waiting$"):
        logs.read(path)


def test_newer_dates_and_packed_files_are_read(log):
    path = log("20140331.gz", GOOD.replace("14:05:00;", "14:05:00.123456;"))
    assert logs.read(path).title == "20140331"


@pytest.mark.parametrize("start", ["", "start=0"])
def test_a_job_without_a_start_never_ran(log, start):
    other = GOOD.replace("7.server", "8.server").replace("start=150", start)
    assert logs.read(log("a.acct", f"{GOOD}\n{other}\n")).set_aside == (("never ran", 1),)


@pytest.mark.parametrize(
    ("code", "end", "status"),
    [
        ("0", 250, Status.COMPLETED),
        ("1", 250, Status.FAILED),
        ("143", 250, Status.FAILED),
        ("-1", 250, Status.FAILED),
        ("-29", 250, Status.TIMEOUT),
        ("271", 250, Status.CANCELLED),
        ("265", 250, Status.CANCELLED),
        ("267", 250, Status.FAILED),
        ("271", 750, Status.TIMEOUT),
        ("1", 750, Status.FAILED),
    ],
)
def test_exit_status_and_time_tell_how_a_job_ended(log, code, end, status):
    record = GOOD.replace("Exit_status=0", f"Exit_status={code}").replace("end=250", f"end={end}")
    assert logs.read(log("a.acct", record)).status.tolist() == [status]
