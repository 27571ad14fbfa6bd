"""Lines, numbers, durations and sizes as logs write them."""

import gzip
import re
from pathlib import Path

import pytest

from cpsched.errors import TraceError
from cpsched.logs import text
from cpsched.logs.pbs.request import kilobytes
from cpsched.util import quantities
from cpsched.util.slurm_quantities import MEMORY


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("0", 0),
        ("90", 90),
        ("2:05", 125),
        ("04:00:00", 14_400),
        ("100:00:00", 360_000),
        ("1:00:00:00", 86_400),
        ("1-0", 86_400),
        ("1-03:30", 99_000),
        ("1-03:03:04", 97_384),
        ("4h", 14_400),
        ("4 h 36 min", 16_560),
        ("2 d", 172_800),
        ("45 s", 45),
    ],
)
def test_duration_reads_all_ways_to_write_it(written, seconds):
    assert quantities.duration(written) == seconds


@pytest.mark.parametrize(
    "written",
    [
        *("", "-1", "1:", ":5", "1:60", "0:90:00", "1-24:00", "1:2:3:4:5", "1-1:2:3:4", "1.5"),
        *("inf", "٣", "99999999999999", "999999999999-0", "1 2", "4 h 3", "h", "999999999999d"),
    ],
)
def test_duration_refuses_anything_else(written):
    with pytest.raises(ValueError, match=r"is not a length of time|must be from 0"):
        quantities.duration(written)


@pytest.mark.parametrize(
    ("written", "seconds", "exact"),
    [
        ("1970-01-01T00:00:01", 1, False),
        ("2024-03-01T10:00:00Z", 1_709_287_200, True),
        ("2024-03-01T11:00:00+01:00", 1_709_287_200, True),
        ("2024-03-01T11:00:00+0100", 1_709_287_200, True),
        ("2024-03-01 10:00:00.999", 1_709_287_200, False),
        ("1709287200", 1_709_287_200, True),
    ],
)
def test_instant_reads_iso_times_and_unix_seconds(written, seconds, exact):
    assert quantities.instant(written) == (seconds, exact)


@pytest.mark.parametrize(
    "written",
    [
        *("", "yesterday", "2024-03-01", "2024-02-30T10:00:00", "2024-03-01T25:00:00", "-5"),
        *("2024-W09-5", "1969-12-31T23:59:59", "99999999999999", "0001-01-01T00:00:00+23:00"),
    ],
)
def test_instant_refuses_anything_else(written):
    with pytest.raises(ValueError, match=r"is not a date and time|must be from 0"):
        quantities.instant(written)


@pytest.mark.parametrize(
    ("written", "kb"),
    [
        ("1gb", 2**20),
        ("1GB", 2**20),
        ("512mb", 2**19),
        ("1000w", 8),
        ("1", 1),
        ("0", 0),
        ("5tb", 5 * 2**30),
    ],
)
def test_kilobytes_rounds_pbs_sizes_up(written, kb):
    assert kilobytes(written) == kb


@pytest.mark.parametrize(
    ("written", "kb"), [("4000", 4_096_000), ("16G", 2**24), ("187.5G", 196_608_000), ("0.1K", 1)]
)
def test_amount_reads_slurm_memory(written, kb):
    assert quantities.amount(written, MEMORY) == kb


@pytest.mark.parametrize(
    "written", ["", "gb", "-1gb", "1 gb", "1xb", "1e3", "٣gb", "1.5.2gb", "1."]
)
def test_amount_refuses_anything_else(written):
    with pytest.raises(ValueError, match="is not an amount"):
        kilobytes(written)


@pytest.mark.parametrize("written", ["", "x", "1.0", "1_000", "٣", "0x1", "1e3", " 1", "9" * 26])
def test_whole_refuses_what_only_python_takes_for_a_number(written):
    with pytest.raises(ValueError, match="whole number"):
        quantities.integer(written)


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("KTH-SP2-1996-2.1-cln.swf.gz", "KTH-SP2-1996-2.1-cln"),
        ("eurora-2014.ext.csv.gz", "eurora-2014"),
        ("20140331", "20140331"),
        ("run.parquet", "run"),
        (".swf", ".swf"),
    ],
)
def test_title_is_the_name_without_the_endings_of_formats(name, title):
    assert text.title(Path("somewhere") / name) == title


def test_chunks_are_whole_lines_whatever_their_size(log):
    path = log("a.txt", b"\xef\xbb\xbfone\r\ntwo\n\nthree and more\nlast")
    for size in (3, 4, 7, 100):
        pieces = list(text.chunks(path, size))
        assert b"".join(piece for _, piece in pieces) == b"one\ntwo\n\nthree and more\nlast\n"
        for first, piece in pieces:
            assert piece.endswith(b"\n")
            before = b"".join(other for number, other in pieces if number < first)
            assert first == before.count(b"\n") + 1


def test_lines_are_numbered_and_blank_ones_left_out(log):
    path = log("a.txt.gz", "\none\n  \ntwo")
    assert list(text.lines(path)) == [(2, b"one"), (4, b"two")]


def test_a_line_beyond_all_measure_is_an_error(log, monkeypatch):
    monkeypatch.setattr(text, "MAX_LINE", 100)
    path = log("a.txt", b"short\n" + b"x" * 1000)
    with pytest.raises(TraceError, match=r"a\.txt:2: is longer than 100 bytes"):
        list(text.chunks(path, 50))


def test_gzip_is_recognised_by_content_not_by_name(log, tmp_path):
    packed = log("a.txt.gz", "one\n")
    renamed = tmp_path / "b.txt"
    renamed.write_bytes(packed.read_bytes())
    assert list(text.lines(renamed)) == [(1, b"one")]


@pytest.mark.parametrize("cut", [5, 30, -1, -9])
def test_a_gzip_cut_off_anywhere_is_an_error(tmp_path, cut):
    packed = gzip.compress(b"".join(b"%d\n" % number for number in range(5000)))
    path = tmp_path / "a.gz"
    path.write_bytes(packed[:cut])
    with pytest.raises(TraceError, match=r"a\.gz: the gzip file is truncated or damaged"):
        list(text.lines(path))


def test_a_file_that_is_not_there_or_a_folder_is_an_error(tmp_path):
    with pytest.raises(TraceError, match="no such file"):
        list(text.lines(tmp_path / "none.swf"))
    with pytest.raises(TraceError, match="cannot be read: Is a directory"):
        list(text.lines(tmp_path))


@pytest.mark.parametrize(
    ("raw", "message"),
    [(b"1 \0 2", "holds a NUL byte (byte 3)"), (b"caf\xe9", "is not UTF-8 text (byte 4 is 0xe9)")],
)
def test_decode_refuses_what_is_no_text(raw, message):
    with pytest.raises(TraceError, match=re.escape(f"log:7: {message}")):
        text.decode(raw, text.FilePosition(Path("log"), 7))


def test_writing_names_a_folder_that_is_not_there(tmp_path):
    with (
        pytest.raises(TraceError, match="cannot be written: No such file"),
        text.written(tmp_path / "none" / "a.csv"),
    ):
        pass
