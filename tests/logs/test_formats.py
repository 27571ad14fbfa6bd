"""Recognising formats; reading and writing by name."""

import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cpsched import logs
from cpsched.errors import TraceError, UnknownNameError
from cpsched.util import registry


@pytest.mark.parametrize(
    ("name", "format_name"),
    [
        ("small.swf", "swf"),
        ("checkpointed.swf", "swf"),
        ("pbspro.acct", "pbs"),
        ("torque.acct", "pbs"),
        ("slurm-22.sacct", "sacct"),
        ("slurm-17.sacct", "sacct"),
        ("minimal.csv", "table"),
        ("chunks.ext.csv", "table"),
    ],
)
def test_a_file_is_recognised_by_its_content(small_logs, log, name, format_name):
    content = (small_logs / name).read_bytes()
    assert logs.detect(small_logs / name) == format_name
    assert logs.detect(log("jobs.dat", content)) == format_name
    assert logs.detect(log("jobs.gz", b"\xef\xbb\xbf\n" + content)) == format_name
    # Even against its name.
    assert logs.detect(log("jobs.sacct", content)) == format_name


def test_content_that_tells_nothing_leaves_it_to_the_name(log):
    assert logs.detect(log("jobs.swf.gz", "hello")) == "swf"
    assert logs.detect(log("jobs.CSV", "")) == "table"


def test_lines_without_comments_are_recognised_as_swf(log):
    line = "1 0 5 60 4 -1 -1 4 100 -1 1 1 1 1 1 1 -1 -1\n"
    assert logs.detect(log("jobs", line)) == "swf"
    assert logs.read(log("jobs", line)).job_id.tolist() == ["1"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("hello", "has an unknown format"),
        ("", "is empty"),
        ("1 2 3", "has an unknown format"),
    ],
)
def test_an_unrecognised_file_names_the_formats_and_the_option(log, content, message):
    with pytest.raises(
        TraceError, match=rf"jobs: {message}.* Choose one of .*pbs.* with --input-format"
    ):
        logs.detect(log("jobs", content))


def test_the_format_can_be_said(small_logs, log):
    path = log("jobs", "hello")
    with pytest.raises(TraceError, match="fields, must have 18"):
        logs.read(path, format="swf")
    with pytest.raises(UnknownNameError, match=r"unknown log format 'sfw'.*'swf'"):
        logs.read(path, format="sfw")
    with pytest.raises(TraceError, match="is not an accounting record"):
        logs.read(small_logs / "small.swf", format="pbs")


def test_writing_needs_a_format_that_can_be_written(small_logs, tmp_path):
    workload = logs.read(small_logs / "small.swf")
    with pytest.raises(TraceError, match="the ending names no writable format"):
        logs.write(workload, tmp_path / "jobs")
    with pytest.raises(TraceError, match="the format 'pbs' can only be read"):
        logs.write(workload, tmp_path / "jobs.acct")
    logs.write(workload, tmp_path / "jobs", format="swf")
    assert logs.detect(tmp_path / "jobs") == "swf"
    with pytest.raises(UnknownNameError):
        logs.write(workload, tmp_path / "jobs", format="xml")


def test_a_format_that_cannot_be_imported_is_named_and_passed_over(small_logs, monkeypatch):
    broken = registry.RegistryEntry("broken", "cpsched.logs.nowhere:NOTHING", "somebody")
    entries = {"broken": broken, **registry.entries("log_formats")}
    monkeypatch.setattr(registry, "entries", lambda _: entries)
    with pytest.warns(RuntimeWarning, match="log format ignored: 'broken'.*from somebody"):
        assert logs.detect(small_logs / "small.swf") == "swf"


def test_every_registered_format_keeps_its_contract():
    for name in registry.names("log_formats"):
        reader = registry.load("log_formats", name)
        assert reader.name == name
        assert reader.summary == reader.summary.strip() != ""
        assert all(suffix.startswith(".") for suffix in reader.suffixes)


def test_importing_traces_imports_no_heavy_library():
    code = "import sys, cpsched.logs; print([m for m in ('pandas', 'pyarrow') if m in sys.modules])"
    process = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    assert process.stdout.strip() == "[]"


@pytest.mark.parametrize("name", ["chunks.ext.csv", "minimal.csv", "a.parquet", "small.swf"])
def test_reading_a_log_does_not_import_pandas(small_logs, tmp_path, name):
    """It takes longer than reading most logs."""
    path = small_logs / name
    if name == "a.parquet":
        path = tmp_path / name
        logs.write(logs.read(small_logs / "minimal.csv"), path)
    code = f"import sys; from cpsched import logs; logs.read({str(path)!r})"
    code += "; print('pandas' in sys.modules)"
    process = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    assert process.stdout.strip() == "False"


EDITS = st.lists(
    st.tuples(
        st.floats(0, 1),
        st.integers(0, 8),
        st.one_of(
            st.sampled_from(
                [b"", b"-", b"\0", b"\xff", b"\n", b"\r", b'"', b"|", b";", b",", b"="]
            ),
            st.sampled_from([b"1e400", b"nan", b"9" * 30, b"-1", b"0", b"1:1", b"+", b"\xc3\xa9"]),
            st.binary(max_size=4),
        ),
    ),
    min_size=1,
    max_size=4,
)


@pytest.mark.parametrize(
    "name",
    [
        *("small.swf", "pbspro.acct", "torque.acct", "slurm-22.sacct", "slurm-17.sacct"),
        *("minimal.csv", "chunks.ext.csv"),
    ],
)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edits=EDITS, skip=st.booleans())
def test_a_damaged_log_is_read_or_refused_and_nothing_else(small_logs, tmp_path, name, edits, skip):
    content = (small_logs / name).read_bytes()
    for where, length, new in edits:
        start = int(where * len(content))
        content = content[:start] + new + content[start + length :]
    path = tmp_path / name
    path.write_bytes(content)
    message = ""
    try:
        assert len(logs.read(path, skip_bad_lines=skip)) > 0
    except TraceError as error:
        message = str(error)
    assert "\n" not in message
