"""Tables of jobs in CSV and Parquet."""

import csv
import gzip
import json
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpsched import logs
from cpsched.errors import TraceError
from cpsched.model.workload import LABEL_COLUMNS, MAX_NICE, Workload
from cpsched.util.types import (
    MAX_AMOUNT,
    MAX_TIME,
    MISSING,
    UNBOUNDED,
    DependencyType,
    JobType,
    Split,
    Status,
)

HEADER = "job_id,submit,runtime,units,requested_time"


def test_a_minimal_table_needs_five_columns(small_logs):
    workload = logs.read(small_logs / "minimal.csv")
    assert workload.title == "minimal"
    assert workload.epoch == 1_000_000_000
    assert workload.layout == "processors"
    assert workload.resources == ("core",)
    assert workload.job_id.tolist() == ["a", "c"]
    assert workload.units.tolist() == [4, 2]
    assert workload.request.tolist() == [[1], [1]]
    assert workload.requested_time.tolist() == [60, MISSING]
    assert workload.header == (("", "written by hand"),)
    assert workload.set_aside == (("never ran", 1),)


def test_units_come_with_requests_by_resource(log):
    header = f"{HEADER},request.gpu,per_node.mem,request.fpga,nodes_max,exclusive,status,dependency"
    path = log("a.csv", f"{header}\nx,0,1,3,9,2,,1,5,true,timeout,\ny,0,1,1,,,8,,,,,x\n")
    workload = logs.read(path)
    assert workload.layout == "units"
    # Requests are named, and none of them for cores.
    assert workload.resources == ("core", "gpu", "mem", "fpga")
    assert workload.request.tolist() == [[0, 2, 0, 1], [0, 0, 0, 0]]
    assert workload.per_node.tolist() == [[0, 0, 0, 0], [0, 0, 8, 0]]
    assert workload.nodes_max.tolist() == [5, UNBOUNDED]
    assert workload.exclusive.tolist() == [True, False]
    assert workload.status.tolist() == [Status.TIMEOUT, Status.UNKNOWN]
    assert workload.dependency.tolist() == [-1, 0]


def test_without_requests_a_unit_is_one_core(log):
    workload = logs.read(log("a.csv", f"{HEADER}\nx,0,1,3,9\n"))
    assert (workload.layout, workload.request.tolist()) == ("units", [[1]])


def test_a_dependency_follows_its_job_through_sorting(log):
    path = log("a.csv", f"{HEADER},dependency\nx,9,1,1,9,\ny,5,1,1,9,x\nz,0,,1,9,\nw,7,1,1,9,z\n")
    workload = logs.read(path)
    assert workload.job_id.tolist() == ["y", "w", "x"]
    # Job z never ran, so nobody waits for it.
    assert workload.dependency.tolist() == [2, -1, -1]


def test_text_that_looks_like_nothing_stays_text(log):
    path = log("a.csv", f'{HEADER},user,name\nNA,0,1,1,9,nan,"a,b"\nNone,0,1,1,9,,"two\nlines"\n')
    workload = logs.read(path)
    assert workload.job_id.tolist() == ["NA", "None"]
    assert workload.user.decode() == ["nan", None]
    assert workload.name.decode() == ["a,b", "two\nlines"]


def test_gzip_and_windows_line_ends_are_read(log):
    path = log("a.csv.gz", f"\ufeff{HEADER}\r\nx,0,1,3,9\r\n\r\ny,0,1,3,9")
    assert logs.read(path).job_id.tolist() == ["x", "y"]


BAD_ROWS = {
    ",0,1,1,9": "field job_id = '': must not be empty",
    "x,0,1,1,9": "field job_id = 'x': is the id of another row",
    "b,-1,1,1,9": "field submit = '-1': must be from 0 to",
    "b,,1,1,9": "field submit = '': must not be empty",
    "b,0,-1,1,9": "field runtime = '-1': must be from 0 to",
    "b,0,1000000000001,1,9": "field runtime = '1000000000001': must be from 0",
    "b,-9999999999999999999,1,1,9": "submit = '-9999999999999999999': must be",
    "b,0,long,1,9": "field runtime = 'long': is not a whole number",
    "b,0,1.5,1,9": "field runtime = '1.5': is not a whole number",
    "b,0,1,0,9": "field units = '0': must be from 1 to",
    "b,0,1,1,0": "field requested_time = '0': must be from 1 to",
    "b,0,1": "the row has 3 columns, and the header has 5",
    "b,0,1,1,9,": "the row has 6 columns, and the header has 5",
    '"b"x,0,1,1,9': "is not a row of CSV: ',' expected after '\"'",
    "b\rc,0,1,1,9": "is not a row of CSV: a carriage return needs quotes",
    "b\0,0,1,1,9": "holds a NUL byte (byte 2), must be text",
}


@pytest.mark.parametrize("row", BAD_ROWS)
def test_a_row_that_cannot_be_true_is_named_or_counted(log, row):
    path = log("a.csv", f"# by hand\n{HEADER}\nx,0,1,1,9\n\n{row}\nc,0,1,1,9\n")
    with pytest.raises(
        TraceError, match=re.escape(f"{path}:5: ") + ".*" + re.escape(BAD_ROWS[row])
    ):
        logs.read(path)
    workload = logs.read(path, skip_bad_lines=True)
    assert workload.job_id.tolist() == ["c", "x"]
    assert workload.set_aside == (("bad line", 1),)


def test_lines_are_counted_through_cells_of_several_lines(log):
    path = log("a.csv", f'{HEADER},name\nx,0,1,1,9,"a\n\nb"\ny,0,1,bad,9,\n')
    with pytest.raises(TraceError, match=r"a\.csv:5: field units = 'bad'"):
        logs.read(path)


@given(
    names=st.lists(st.text('a",\n', max_size=5), min_size=1, max_size=6), all_quoted=st.booleans()
)
def test_quoted_cells_are_read_as_the_csv_module_writes_them(names, all_quoted, tmp_path_factory):
    path = tmp_path_factory.mktemp("quotes") / "a.csv"
    with path.open("w", newline="") as file:
        quoting = csv.QUOTE_ALL if all_quoted else csv.QUOTE_MINIMAL
        rows = csv.writer(file, quoting=quoting, lineterminator="\n")
        rows.writerow([*HEADER.split(","), "name"])
        rows.writerows([job, job, 1, 1, 9, f"n{name}"] for job, name in enumerate(names))
    assert logs.read(path).name.decode() == [f"n{name}" for name in names]


def test_bytes_that_are_no_text_are_named_or_counted(log):
    path = log("a.csv", f"{HEADER}\nx,0,1,1,9\ncaf".encode() + b"\xe9,0,1,1,9\n")
    with pytest.raises(TraceError, match=r"a\.csv:3: is not UTF-8 text"):
        logs.read(path)
    assert logs.read(path, skip_bad_lines=True).set_aside == (("bad line", 1),)


def test_a_quote_that_never_ends_is_an_error(log):
    path = log("a.csv", f'{HEADER}\nx,0,1,1,9\n"y,0,1,1,9\nz,0,1,1,9\n')
    with pytest.raises(TraceError, match=r"a\.csv:3: is not a row of CSV: unexpected end of data"):
        logs.read(path)
    assert logs.read(path, skip_bad_lines=True).job_id.tolist() == ["x"]


BAD_CELLS = {
    ("exclusive", "maybe"): "is neither true nor false",
    ("status", "won"): "is not one of unknown, failed, completed, cancelled, timeout",
    ("split", "uneven"): "is not one of any, even",
    ("job_type", "soft"): "is not one of rigid, moldable, malleable, evolving",
    ("nodes_min", "0"): "must be from 1 to",
    ("units_min", "0"): "units_min = 0: must be from 1 to units",
    ("units_min", "10"): "units_min = 10: must be from 1 to units",
    ("units_max", "1"): "units_max = 1: must be at least units",
    ("segment", "-1"): "must be from 0 to",
    ("max_switches", "two"): "is not a whole number",
    ("switch_wait", "-5"): "must be from 0 to",
    ("checkpoint", "-1"): "must be from 0 to",
    ("restart_cost", "dear"): "is not a whole number",
    ("request.core", "-1"): "must be from 0 to",
    ("per_node.gpu", "99999999999999999"): "must be from 0 to",
    ("request.mem", str(MAX_AMOUNT)): "times the request must be at most",
    ("dependency", "nobody"): "is the id of no job",
    ("deadline", "-2000000000000"): "must be from -",
}


@pytest.mark.parametrize(("column", "value"), BAD_CELLS)
def test_a_cell_that_cannot_be_true_is_named(log, column, value):
    path = log("a.csv", f"{HEADER},{column}\nx,0,1,2,9,{value}\n")
    with pytest.raises(
        TraceError, match=r"a\.csv:2: field .*" + re.escape(BAD_CELLS[column, value])
    ):
        logs.read(path)


def test_more_nodes_at_least_than_at_most_is_an_error(log):
    path = log("a.csv", f"{HEADER},per_node.gpu,per_node_max.gpu\nx,0,1,2,9,2,0\ny,0,1,2,9,2,1\n")
    with pytest.raises(
        TraceError, match="field per_node_max.gpu = 1: must be at least per_node.gpu"
    ):
        logs.read(path)
    path = log("a.csv", f"{HEADER},nodes_min,nodes_max\nx,0,1,2,9,4,3\n")
    with pytest.raises(TraceError, match="field nodes_max = 3: must be at least nodes_min"):
        logs.read(path)


BAD_HEADERS = {
    "job_id,submit,runtime,units": "field requested_time: a table of jobs needs this column",
    "job_id,submit,runtime,requested_time": "a table has either the column units or the column cores",
    f"{HEADER},cores": "field units: a table has either the column units or the column cores",
    "job_id,submit,runtime,cores,requested_time,request.core": "is not allowed with the column cores",
    f"{HEADER},usr": "field usr: unknown column in a table of jobs. Did you mean 'user'?",
    f"{HEADER},request.": "field request.: unknown column in a table of jobs",
    f"{HEADER},zzz": "field zzz: unknown column in a table of jobs",
    f"{HEADER},": "field '': unknown column in a table of jobs",
    f'{HEADER},"a\nb"': r"a column has the name 'a\nb', which is not text",
    f"{HEADER},user,user": "field user: is in the header twice",
    "job,submit,run,reqtime,nodes,cores_per_node,gpu_per_node": "Did you mean 'gpus_per_node'?",
    "job,submit,run,nodes,cores_per_node": "field reqtime: a table of chunk requests needs this",
    "job,submit,run,reqtime,nodes": "field cores_per_node: a table of chunk requests needs this",
}


@pytest.mark.parametrize("header", BAD_HEADERS)
def test_wrong_columns_are_named_with_the_closest_right_one(log, header):
    with pytest.raises(TraceError, match=re.escape(BAD_HEADERS[header])):
        logs.read(log("a.csv", f"{header}\n"), skip_bad_lines=True)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "no header line: the file is empty"),
        ("# only a comment\n", "no header line: the file is empty"),
        (f"{HEADER}\n", "no job in it"),
        (f"{HEADER}\nx,0,,1,9\n", "no job in it: 1 never ran"),
    ],
)
def test_a_table_without_jobs_is_an_error(log, content, message):
    with pytest.raises(TraceError, match=f"{message}$"):
        logs.read(log("a.csv", content))


BAD_METADATA = {
    ("cpsched-table", "2"): "this cpsched reads versions up to 1",
    ("epoch", '"today"'): "must be seconds since 1970",
    ("epoch", "10000000000000"): "must be seconds since 1970",
    ("title", "7"): "must be a string",
    ("layout", '"heap"'): 'must be "units" or "processors"',
    ("resources", '["core", "core"]'): "must be different names",
    ("resources", '["core", 1]'): "must be a list of strings",
    ("resources", '["core"]'): "must name 'gpu' too, which has a column",
    ("header", '[["a"]]'): "must be a list of [key, text]",
    ("set_aside", '[["bad line", -1]]'): "must be a list of [reason, count]",
    ("set_aside", "null"): "must be a list of [reason, count]",
    ("title", "{"): "is not valid JSON",
    ("title", "[" * 100_000): "is not valid JSON: it is nested too deeply",
}


@pytest.mark.parametrize(("key", "value"), BAD_METADATA)
def test_metadata_that_cannot_be_true_is_named(log, key, value):
    path = log("a.csv", f"# {key}: {value}\n{HEADER},request.gpu\nx,0,1,1,9,0\n")
    with pytest.raises(TraceError, match=re.escape(BAD_METADATA[key, value])):
        logs.read(path)


# -- Parquet ------------------------------------------------------------------------------------


def parquet(path, **columns):
    """Write a minimal table with some columns replaced."""
    table = {
        "job_id": ["x", "y"],
        "submit": [0, 1],
        "runtime": [1, 1],
        "units": [1, 1],
        "requested_time": [9, 9],
        **columns,
    }
    pq.write_table(pa.table(table), path)


@pytest.mark.parametrize(
    ("column", "values", "expected"),
    [
        ("requested_time", pa.array([9, None], pa.int32()), [9, MISSING]),
        ("requested_time", pa.array([9.0, float("nan")]), [9, MISSING]),
        ("requested_time", pa.array([9.0, None]), [9, MISSING]),
        ("requested_time", pa.array(["9", " 8 "]), [9, 8]),
        ("submit", pa.array([7, 8], pa.uint64()), [7, 8]),
    ],
)
def test_parquet_numbers_of_other_types_are_taken(tmp_path, column, values, expected):
    parquet(tmp_path / "a.parquet", **{column: values})
    assert getattr(logs.read(tmp_path / "a.parquet"), column).tolist() == expected


def test_parquet_strings_may_be_categories_or_numbers(tmp_path):
    frame = pd.DataFrame({"user": pd.Categorical(["b", None])})
    parquet(
        tmp_path / "a.parquet",
        user=pa.Array.from_pandas(frame["user"]),
        group=[12, 7],
        exclusive=[True, False],
    )
    workload = logs.read(tmp_path / "a.parquet")
    assert workload.user.decode() == ["b", None]
    assert workload.group.decode() == ["12", "7"]
    assert workload.exclusive.tolist() == [True, False]


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("runtime", [1, -1], "field runtime = -1: must be from 0 to 1000000000000 (row 2)"),
        ("runtime", [1.0, 1.5], "field runtime = 1.5: is not a whole number (row 2)"),
        ("submit", pa.array([2**64 - 1, 0], pa.uint64()), "is not a whole number (row 1)"),
        ("submit", pa.array([0, 1], pa.timestamp("s")), "field submit: has type timestamp["),
        ("user", [["a"], ["b"]], "field user: has type list<"),
        ("user", ["a", "b\0"], r"field user = 'b\x00': contains a NUL character, must be text"),
        ("job_id", ["a\0", "b"], r"field job_id = 'a\x00': contains a NUL character"),
    ],
)
def test_parquet_cells_that_cannot_be_true_are_named(tmp_path, column, values, message):
    parquet(tmp_path / "a.parquet", **{column: values})
    with pytest.raises(TraceError, match=re.escape(message)):
        logs.read(tmp_path / "a.parquet")


@pytest.mark.parametrize("content", [b"PAR1", b"PAR1" + b"x" * 100 + b"PAR1", None])
def test_damaged_parquet_is_an_error(tmp_path, content):
    """Made up, or cut off."""
    path = tmp_path / "a.parquet"
    parquet(path)
    path.write_bytes(content or path.read_bytes()[:-20])
    with pytest.raises(TraceError, match="cannot be read as Parquet"):
        logs.read(path)


def test_parquet_strings_that_are_no_text_are_an_error(tmp_path):
    user = pa.array([b"ann", b"\xff\xfe"]).cast(pa.binary()).buffers()
    parquet(tmp_path / "a.parquet", user=pa.StringArray.from_buffers(2, user[1], user[2]))
    with pytest.raises(TraceError, match=r"cannot be read as Parquet: .*UTF8"):
        logs.read(tmp_path / "a.parquet")


def test_metadata_of_others_is_passed_over(tmp_path):
    table = pa.table({name: ["1"] for name in HEADER.split(",")})
    description = json.dumps({"title": "own", "colour": "red"})
    pq.write_table(table.replace_schema_metadata({"cpsched": description}), tmp_path / "a.parquet")
    assert logs.read(tmp_path / "a.parquet").title == "own"


def test_parquet_metadata_must_be_an_object(tmp_path):
    table = pa.table({"job_id": ["x"]}).replace_schema_metadata({"cpsched": "[]"})
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(TraceError, match="metadata: must be a JSON object"):
        logs.read(tmp_path / "a.parquet")


# -- writing ------------------------------------------------------------------------------------


def test_csv_holds_only_what_somebody_asks_for(small_logs, tmp_path):
    logs.write(logs.read(small_logs / "checkpointed.swf"), tmp_path / "a.csv")
    lines = (tmp_path / "a.csv").read_text().splitlines()
    metadata = dict(line.removeprefix("# ").split(": ", 1) for line in lines if line[0] == "#")
    assert json.loads(metadata["set_aside"]) == [["partial execution", 2]]
    assert lines[len(metadata) :] == [
        "job_id,submit,runtime,requested_time,units,request.core,queue,partition,user,name,group,"
        "status,recorded_start",
        "1,0,60,100,4,1,1,1,1,1,1,completed,5",
        "2,9,10,100,1,1,1,1,1,1,1,completed,9",
    ]


def test_the_same_workload_gives_the_same_bytes(small_logs, tmp_path):
    workload = logs.read(small_logs / "small.swf")
    for name in ("csv", "csv.gz", "parquet"):
        logs.write(workload, tmp_path / f"a.{name}")
        logs.write(workload, tmp_path / f"b.{name}")
        assert (tmp_path / f"a.{name}").read_bytes() == (tmp_path / f"b.{name}").read_bytes()


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"job_id": ["1", "1"]}, "a table needs a unique job_id for every job"),
        ({"job_id": ["1", ""]}, "a table needs a unique job_id for every job"),
        ({"user": ["a\0b", None]}, "cannot hold a string with a NUL"),
        ({"user": ["\ud800", None]}, "surrogates not allowed"),
    ],
)
def test_a_workload_no_table_can_hold_is_an_error(tmp_path, two_jobs, name, columns, message):
    with pytest.raises(TraceError, match=message):
        logs.write(two_jobs(**columns), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=8)
LABELS = st.one_of(st.none(), TEXTS, st.sampled_from(["NA", "a,b", '"', "#", "a\r\nb", "\r", " "]))


@st.composite
def workloads(draw):
    """Any workload."""
    num_jobs = draw(st.integers(1, 6))
    others = st.text(st.sampled_from('abc," .é'), min_size=1, max_size=4).filter(
        lambda name: name == name.strip()
    )
    resources = draw(
        st.lists(
            st.one_of(st.just("core"), st.just("mem"), others), min_size=1, max_size=3, unique=True
        )
    )

    def column(values):
        return draw(st.lists(values, min_size=num_jobs, max_size=num_jobs))

    def amounts():
        row = st.lists(st.integers(0, 2**20), min_size=len(resources), max_size=len(resources))
        return column(row)

    moments = st.one_of(st.just(MISSING), st.integers(-MAX_TIME, MAX_TIME))
    nodes_min = column(st.integers(1, 100))
    spread = column(st.one_of(st.none(), st.integers(0, 100)))
    columns = {
        "requested_time": column(st.one_of(st.just(MISSING), st.integers(1, MAX_TIME))),
        "per_node": amounts(),
        "nodes_min": nodes_min,
        "nodes_max": [
            UNBOUNDED if more is None else low + more
            for low, more in zip(nodes_min, spread, strict=True)
        ],
        "segment": column(st.integers(0, 20)),
        "max_switches": column(st.integers(0, 3)),
        "switch_wait": column(st.one_of(st.just(MISSING), st.integers(0, MAX_TIME))),
        "checkpoint": column(st.integers(0, MAX_TIME)),
        "restart_cost": column(st.integers(0, MAX_TIME)),
        "split": column(st.sampled_from(Split)),
        "job_type": column(st.sampled_from(JobType)),
        "dependency_type": column(st.sampled_from(DependencyType)),
        "array_limit": column(st.integers(0, 99)),
        "nice": column(st.integers(-MAX_NICE, MAX_NICE)),
        "cancel": column(st.sampled_from([MISSING, MAX_TIME])),
        "status": column(st.sampled_from(Status)),
        "units_min": column(st.integers(0, 2**31 - 1)),
        "units_max": column(st.integers(0, 2**31 - 1)),
        "dependency": column(st.integers(-1, num_jobs - 1)),
        **{name: column(moments) for name in ("deadline", "begin", "recorded_start")},
        **{
            name: column(st.booleans())
            for name in (
                *("contiguous", "exclusive", "urgent", "restartable", "requested_time_assumed"),
            )
        },
        **{name: column(LABELS) for name in LABEL_COLUMNS},
    }
    # Most of a range: nothing, or no less than the least.
    per_node_max = np.maximum(amounts(), columns["per_node"])
    columns["per_node_max"] = np.where(np.asarray(amounts()) % 2, per_node_max, 0)
    names = draw(st.sets(st.sampled_from(sorted(columns))))
    units = column(st.integers(1, 2**31 - 2))
    columns["units_min"] = np.clip(columns["units_min"], 1, units)
    columns["units_max"] = np.maximum(columns["units_max"], units)
    if "per_node_max" in names:
        names.add("per_node")
    return Workload.build(
        title=draw(TEXTS),
        epoch=draw(st.one_of(st.none(), st.integers(-MAX_TIME, MAX_TIME))),
        layout=draw(st.sampled_from(["units", "processors"])),
        resources=resources,
        header=draw(st.lists(st.tuples(st.text(max_size=3), st.text(max_size=8)), max_size=3)),
        set_aside=draw(
            st.lists(st.tuples(TEXTS, st.integers(0, 99)), max_size=2, unique_by=lambda p: p[0])
        ),
        job_id=draw(
            st.lists(
                TEXTS.filter(lambda t: "\0" not in t),
                min_size=num_jobs,
                max_size=num_jobs,
                unique=True,
            )
        ),
        submit=column(st.integers(0, MAX_TIME)),
        runtime=column(st.integers(0, MAX_TIME)),
        units=units,
        request=amounts(),
        **{name: value for name, value in columns.items() if name in names},
    )


@settings(max_examples=80)
@given(original=workloads(), name=st.sampled_from(["any.csv", "any.csv.gz", "any.parquet"]))
def test_any_workload_reads_back_equal(tmp_path_factory, differences, original, name):
    path = tmp_path_factory.mktemp("table") / name
    logs.write(original, path)
    assert differences(original, logs.read(path)) == []
    assert logs.read(path).digest() == original.digest()


FORMULAS = ("@SUM(1)", "=1+1", "+x", "-cmd|x", "\t=1", " =1", "\r=1")
HARMLESS = ("-5", "+1.5e3", "-", "a=b", "'quoted'", "x@y", "")


@pytest.mark.parametrize("title", ["a log", "x,=cmd()", "x, @SUM(1), =2"])
def test_no_cell_is_a_formula(tmp_path, two_jobs, title):
    """A spreadsheet evaluates what begins so; with an apostrophe in front it is text."""
    path = tmp_path / "a.csv"
    for text in (*FORMULAS, "'=1", "''@x", *HARMLESS):
        workload = two_jobs(name=[text, "b"], title=title)
        logs.write(workload, path)
        with path.open(newline="") as file:
            cells = {cell for row in csv.reader(file) for cell in row}
        assert not [cell for cell in cells if cell.strip(" ")[:1] in ("=", "@", "\t", "\r")]
        assert text in cells if text in HARMLESS else f"'{text}" in cells
        read = logs.read(path)
        assert read.name.decode()[0] == (text or None)
        assert read.digest() == workload.digest()
        assert read.title == title


# -- chunk requests -----------------------------------------------------------------------------


def test_chunks_become_units_that_may_share_a_node(small_logs):
    workload = logs.read(small_logs / "chunks.ext.csv")
    assert workload.title == "chunks"
    assert workload.layout == "units"
    assert workload.resources == ("core", "gpu", "mem")
    assert workload.job_id.tolist() == ["1", "3"]
    assert workload.units.tolist() == [2, 1]
    assert workload.request.tolist() == [[8, 1, 1_048_576], [1, 0, 0]]
    assert workload.nodes_min.tolist() == [1, 1]
    assert workload.requested_time.tolist() == [60, MISSING]
    assert workload.recorded_start.tolist() == [MISSING, MISSING]
    assert workload.user.decode() == ["7", "8"]
    assert workload.queue.decode() == ["parallel", "debug"]
    assert workload.constraint.decode() == ["x86_64:cl#excl", "CPU|exclusive"]
    assert workload.exclusive.tolist() == [True, True]
    assert workload.set_aside == (("never ran", 1),)


EXT_HEADER = "job,submit,run,reqtime,nodes,cores_per_node,gpus_per_node,constraint"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("2,0,-2,1,1,1,0,", "field run = '-2': must be from -1"),
        ("2,0,5,0,1,1,0,", "field reqtime = 0: must be at least 1"),
        ("2,0,5,9,0,1,0,", "field nodes = '0': must be from 1"),
        ("2,0,5,9,,1,0,", "field nodes = '': must not be empty"),
        ("2,0,5,9,1,0,0,", "field cores_per_node = '0': must be from 1"),
        ("2,0,5,9,1,1,-1,", "field gpus_per_node = '-1': must be from 0"),
        ("2,-5,5,9,1,1,1,", "field submit = '-5': must be from 0"),
        ("1,0,5,9,1,1,1,", "field job = '1': is the id of another row"),
        ("2,0,5,9,100,9007199254740992,1,", "field nodes = 100: times the request"),
    ],
)
def test_chunk_rows_that_cannot_be_true_are_named_or_counted(log, row, message):
    path = log("a.ext.csv.gz", f"{EXT_HEADER}\n1,0,5,9,1,1,0,\n{row}\n")
    assert gzip.decompress(path.read_bytes()).endswith(row.encode() + b"\n")
    with pytest.raises(TraceError, match=re.escape(f"{path}:3: {message}")):
        logs.read(path)
    assert logs.read(path, skip_bad_lines=True).set_aside == (("bad line", 1),)


@pytest.mark.parametrize(
    ("constraint", "exclusive"),
    [
        ("exclusive", True),
        ("a|exclusive", True),
        ("a#excl", True),
        ("exclusively", False),
        ("nonexclusive", False),
        ("#excl:a", False),
        ("", False),
    ],
)
def test_only_a_constraint_that_says_so_is_exclusive(log, constraint, exclusive):
    workload = logs.read(log("a.ext.csv", f"{EXT_HEADER}\n1,0,5,9,1,1,0,{constraint}\n"))
    assert np.array_equal(workload.exclusive, [exclusive])


def test_a_damaged_description_of_a_column_does_not_end_the_process(tmp_path, small_logs):
    """Of a column without nulls whose statistics count them: Arrow aborts if asked about it."""
    path = tmp_path / "log.parquet"
    logs.write(logs.read(small_logs / "minimal.csv"), path)
    content = path.read_bytes()
    # The column's entry in the schema: optional (1, of which 2 is the zigzag) becomes required (0).
    damaged = content.replace(b"\x25\x02\x18\x0crequest.core", b"\x25\x00\x18\x0crequest.core")
    assert damaged != content
    path.write_bytes(damaged)
    read = f"from cpsched import logs; logs.read({str(path)!r})"
    ended = subprocess.run([sys.executable, "-c", read], capture_output=True, text=True)
    # Arrow 18 reads it as it was.
    assert ended.returncode in (0, 1)
    assert ended.returncode == 0 or "TraceError" in ended.stderr


def test_columns_that_are_not_read_are_named(log):
    header = "job,submit,run,reqtime,nodes,cores_per_node,src_id"
    workload = logs.read(log("a.ext.csv", f"{header}\n1,0,5,9,1,4,x\n"))
    assert ("Note", "the column src_id is not read") in workload.header
