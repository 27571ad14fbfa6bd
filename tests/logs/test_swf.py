"""Reading the Standard Workload Format."""

import gzip
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpsched import _core, logs
from cpsched.errors import TraceError
from cpsched.logs import swf
from cpsched.logs.rejects import RejectedRows
from cpsched.logs.swf import SwfLines
from cpsched.logs.text import chunks
from cpsched.model import arrays
from cpsched.model.arrays import is_constant
from cpsched.util.types import MISSING, UNBOUNDED, Status

GOOD = "1 0 5 60 4 -1 -1 4 100 -1 1 1 1 1 1 1 -1 -1"


def with_field(number, value, line=GOOD):
    """Return a line with one of its fields (from 1) replaced."""
    values = line.split()
    values[number - 1] = value
    return " ".join(values)


def test_long_columns_lie_in_files(small_logs, monkeypatch):
    """Of 44 million jobs they would take 10 GB of memory."""
    in_memory = logs.read(small_logs / "small.swf")
    monkeypatch.setattr(arrays, "_IN_FILE", 1)
    workload = logs.read(small_logs / "small.swf")
    assert workload.digest() == in_memory.digest()
    for name in ("job_id", "submit", "runtime", "units", "recorded_start", "requested_time"):
        column = getattr(workload, name)
        assert is_constant(column) or arrays._file_of(column) is not None, name


def test_every_field_becomes_its_column(small_logs):
    workload = logs.read(small_logs / "small.swf")
    assert workload.title == "small"
    assert workload.epoch == 1_000_000_000
    assert workload.layout == "processors"
    assert workload.resources == ("core", "mem")
    assert workload.job_id.tolist() == ["1", "2", "5"]
    assert workload.submit.tolist() == [0, 5, 20]
    assert workload.runtime.tolist() == [100, 50, 0]
    # Job 1: requested processors (8) before allocated ones (4); job 2: only allocated known.
    assert workload.units.tolist() == [8, 2, 1]
    assert workload.request.tolist() == [[1, 1024], [1, 0], [1, 512]]
    assert workload.requested_time.tolist() == [200, MISSING, 60]
    assert workload.recorded_start.tolist() == [10, MISSING, 25]
    assert workload.status.tolist() == [Status.COMPLETED, Status.FAILED, Status.COMPLETED]
    assert workload.user.decode() == ["3", "4", None]
    assert workload.group.decode() == ["1", "1", None]
    assert workload.name.decode() == ["7", None, None]
    assert workload.queue.decode() == ["0", "1", None]
    assert workload.partition.decode() == ["1", "1", None]
    assert workload.dependency.tolist() == [-1, -1, -1]
    assert workload.nodes_max.tolist() == [UNBOUNDED] * 3


def test_comments_become_the_header_in_file_order(small_logs):
    assert logs.read(small_logs / "small.swf").header == (
        ("Version", "2.2"),
        ("Computer", "Toy cluster"),
        ("UnixStartTime", "1000000000"),
        ("MaxProcs", "16"),
        ("Note", "five jobs, of which two never became any"),
        ("", "this line goes on with the note"),
        ("", "a comment between the jobs"),
    )


def test_rows_that_are_no_jobs_are_counted(small_logs):
    assert logs.read(small_logs / "small.swf").set_aside == (("never ran", 1), ("no processors", 1))


def test_pieces_of_a_checkpointed_job_are_set_aside(small_logs):
    workload = logs.read(small_logs / "checkpointed.swf")
    assert workload.job_id.tolist() == ["1", "2"]
    assert workload.runtime.tolist() == [60, 10]
    assert workload.set_aside == (("partial execution", 2),)


def test_jobs_are_sorted_by_submit_and_ties_keep_their_order(log):
    lines = [
        with_field(1, number, with_field(2, submit))
        for number, submit in (("1", "7"), ("2", "3"), ("3", "7"), ("4", "3"))
    ]
    assert logs.read(log("a.swf", "\n".join(lines))).job_id.tolist() == ["2", "4", "1", "3"]


def test_without_memory_or_epoch_nothing_is_made_up(log):
    workload = logs.read(log("a.swf", GOOD))
    assert workload.resources == ("core",)
    assert workload.epoch is None


@pytest.mark.parametrize("line", [GOOD.replace(" ", "\t"), "  " + GOOD + "  ", GOOD + "\r"])
def test_blanks_of_any_kind_separate_fields(log, line):
    assert len(logs.read(log("a.swf", line + "\n" + with_field(1, "2")))) == 2


@pytest.mark.parametrize("field", [6, 7])
def test_measured_averages_may_have_fractions(log, field):
    for value in ("0.25", "142.00", "1e3", ".5", "7."):
        assert len(logs.read(log("a.swf", with_field(field, value)))) == 1


BAD_LINES = {
    with_field(2, "-5"): "field 2 (submit time) = '-5': must be from 0 to",
    with_field(2, "-1"): "field 2 (submit time) = -1: must be 0 or later",
    with_field(4, "-2"): "field 4 (run time) = '-2': must be from 0",
    with_field(4, "1" + "0" * 24): "field 4 (run time) = '1000",
    with_field(8, "99999999999"): "field 8 (requested processors) = '999",
    with_field(10, "1" + "0" * 17): "field 10 (requested memory) = '1000",
    with_field(10, "9" + "0" * 15): "multiplied by the processors, must be",
    with_field(9, "0"): "field 9 (requested time) = 0: must be at least 1",
    with_field(8, "4.0"): "'4.0': is not a whole number",
    with_field(4, "nan"): "field 4 (run time) = 'nan': is not a whole number",
    with_field(4, "fast"): "field 4 (run time) = 'fast': is not a whole number",
    with_field(6, "inf"): "field 6 (average CPU time) = 'inf': is not a number",
    with_field(6, "1e999"): "field 6 (average CPU time) = '1e999': must be from 0",
    with_field(11, "7"): "field 11 (status) = '7': must be from 0 to 5",
    with_field(1, "-1"): "field 1 (job number) = -1: is missing. Every job needs",
    with_field(1, "2"): "field 1 (job number) = 2: is the number of another line",
    GOOD[:-3]: "the line has 17 fields, must have 18",
    GOOD + " -1": "the line has 19 fields, must have 18",
    GOOD + " ; sure": "the line has 20 fields, must have 18",
    GOOD.replace(" ", ","): "the line has 1 fields, must have 18",
    with_field(12, '"1"'): "is not a whole number",
    with_field(17, "-2"): "field 17 (preceding job) = '-2'",
}


@pytest.mark.parametrize("line", BAD_LINES)
def test_a_line_that_cannot_be_true_is_named_or_counted(log, line):
    path = log("a.swf", f"; Version: 2.2\n{with_field(1, '2')}\n\n{line}\n{with_field(1, '3')}\n")
    with pytest.raises(
        TraceError, match=re.escape(f"{path}:4: ") + ".*" + re.escape(BAD_LINES[line])
    ):
        logs.read(path)
    workload = logs.read(path, skip_bad_lines=True)
    assert workload.job_id.tolist() == ["2", "3"]
    assert workload.set_aside == (("bad line", 1),)


def test_times_may_have_fractions_and_what_is_unknown_may_be_nan(log):
    lines = [
        with_field(4, "60.7"), with_field(1, "2", with_field(9, "NaN", with_field(6, "nan"))),
    ]  # fmt: skip
    workload = logs.read(log("a.swf", "\n".join(lines)))
    assert workload.runtime.tolist() == [61, 60]
    assert workload.requested_time.tolist() == [100, MISSING]
    assert workload.header == (
        ("Note", "times with a fraction are rounded to whole seconds in 1 line"),
    )


def test_comments_are_never_fatal(log):
    path = log("a.swf", b"; Computer: Schr\xf6dinger\n; a\0b\n" + GOOD.encode())
    assert logs.read(path).header == (("Computer", "Schr\xf6dinger"), ("", "a b"))


def test_all_bad_lines_are_counted_and_the_way_on_is_named(log):
    path = log("a.swf", "\n".join([GOOD, "x", with_field(1, "2"), "y", "z"]))
    with pytest.raises(
        TraceError, match=r"a\.swf:2: .*\. --skip-bad-lines skips the 3 bad lines\.$"
    ):
        logs.read(path)


@pytest.mark.parametrize(
    ("users", "expected"),
    [(["7", "7"], ["7", "7"]), (["-1", "-1"], [None, None]), (["7", "-1"], ["7", None])],
)
def test_a_column_of_one_number_takes_no_memory(log, users, expected):
    lines = [with_field(1, str(row), with_field(12, user)) for row, user in enumerate(users, 1)]
    user = logs.read(log("a.swf", "\n".join(lines))).user
    assert user.decode() == expected
    assert is_constant(user.codes) == (users[0] == users[1])


def test_queues_have_the_names_of_the_header(log):
    """But where two numbers have one name, or a number is called by another."""
    head = (
        "; Queue:  1  short \n; Queue: 2 7\n; Queue: 3 same\n; Queue: 4 same\n; Partition: 01 all"
    )
    head += f"\n; Queue: {'5' * 5000} long"
    lines = [with_field(1, str(n), with_field(15, str(n))) for n in range(1, 6)]
    workload = logs.read(log("a.swf", "\n".join([head, *lines])))
    assert workload.queue.values == ("short", "2", "3", "4", "5")
    assert workload.partition.values == ("all",)


@pytest.mark.parametrize("raw", [b"1 0 5 \0 4", b"caf\xe9"])
def test_lines_that_are_no_text_are_named_or_counted(log, raw):
    path = log("a.swf", GOOD.encode() + b"\n" + raw + b"\n")
    with pytest.raises(TraceError, match=r"a\.swf:2: (holds a NUL|is not UTF-8)"):
        logs.read(path)
    assert logs.read(path, skip_bad_lines=True).set_aside == (("bad line", 1),)


def test_a_set_aside_row_needs_no_sense_in_its_other_fields(log):
    never_ran = with_field(4, "-1", with_field(9, "0", with_field(2, "-1", with_field(1, "2"))))
    workload = logs.read(log("a.swf", f"{GOOD}\n{never_ran}\n"))
    assert workload.set_aside == (("never ran", 1),)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the file is empty"),
        ("; Version: 2.2\n", "no job in it"),
        (with_field(4, "-1"), "no job in it: 1 never ran"),
    ],
)
def test_a_log_without_jobs_is_an_error(log, content, message):
    with pytest.raises(TraceError, match=f"{message}$"):
        logs.read(log("a.swf", content))


def test_skipping_does_not_read_rubbish_as_an_empty_log(log):
    with pytest.raises(TraceError, match="no job in it: 2 bad line"):
        logs.read(log("a.swf", "hello\nworld"), skip_bad_lines=True)


def test_skipping_does_not_hide_a_cut_off_gzip(tmp_path):
    path = tmp_path / "a.swf.gz"
    lines = "\n".join(with_field(1, str(number)) for number in range(5000))
    path.write_bytes(gzip.compress(lines.encode())[:-100])
    with pytest.raises(TraceError, match="the gzip file is truncated or damaged"):
        logs.read(path, skip_bad_lines=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *((text, "must be seconds") for text in ("soon", "", "1e9", "99999999999999", "-5")),
        ("1\n; UnixStartTime: 2", "is given twice"),
    ],
)
def test_a_header_with_an_impossible_epoch_is_an_error(log, text, message):
    path = log("a.swf", f"; UnixStartTime: {text}\n{GOOD}\n")
    with pytest.raises(TraceError, match=rf"field header UnixStartTime = .*: {message}"):
        logs.read(path)


@pytest.mark.parametrize(
    ("text", "epoch"), [("-1", None), ("0", 0), ("1231135224 (Jan 2009)", 1_231_135_224)]
)
def test_the_epoch_may_be_unknown_or_explained(log, text, epoch):
    assert logs.read(log("a.swf", f"; UnixStartTime: {text}\n{GOOD}\n")).epoch == epoch


# -- lines of whole numbers, and all others ----------------------------------------------------

NUMBERS = st.integers(-1, 50).map(str)
ODD = st.one_of(
    st.sampled_from(["-2", "1.0", "1.5", ".5", "1.", "-", "+", "+5", "007", "-0", "1-2", "--1"]),
    st.sampled_from(["1" + "0" * 18, "1" + "0" * 19, "9" * 30, "1e3", "nan", "x", ";", '"1"']),
    st.sampled_from(["-1.0", "-1.00", "-0.5", "1.2.3", "1+1", "0x1", "True", "NA", "inf"]),
    st.text(st.sampled_from("0123456789.-+"), min_size=1, max_size=6),
)


@st.composite
def line(draw):
    """A line that is right more often than not."""
    kind = draw(st.integers(0, 9))
    if kind == 0:
        return draw(st.sampled_from(["", "   ", "; Key: text", ";", "  ; indented", "\t"]))
    values = draw(st.lists(NUMBERS, min_size=18, max_size=18))
    values[10] = draw(st.sampled_from(["-1", "0", "1", "2", "5"]))
    if kind == 1:
        values[draw(st.integers(0, 17))] = draw(ODD)
    if kind == 2:
        del values[draw(st.integers(0, 17)) :]
    if kind == 3:
        values += draw(st.lists(ODD, max_size=2))
    return draw(st.sampled_from([" ", "  ", "\t"])).join(values)


@settings(max_examples=80)
@given(
    lines=st.lists(line(), max_size=12),
    end=st.sampled_from(["", "\n"]),
    newline=st.sampled_from(["\n", "\r\n"]),
    size=st.sampled_from([60, 200, 10_000]),
)
def test_whole_numbers_are_read_as_all_others(tmp_path_factory, lines, end, newline, size):
    path = tmp_path_factory.mktemp("swf") / "a.swf"
    path.write_bytes((newline.join(lines) + end).encode())

    def outcome():
        rejected = RejectedRows(listed=True)
        read = SwfLines(path, rejected)
        wrong = [row[:2] for row in rejected.rows(path)]
        columns = {number: values.tolist() for number, values in read.take_columns().items()}
        return columns, read.line.tolist(), read.comments, wrong, str(rejected.first)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(swf, "chunks", lambda file: chunks(file, size))
        plain = outcome()
        native = _core.number_lines
        # No line has no field: all are handed back.
        patch.setattr(_core, "number_lines", lambda piece, _, *fields: native(piece, 0, *fields))
        assert outcome() == plain


@settings(max_examples=50)
@given(st.lists(st.lists(NUMBERS, min_size=18, max_size=18), min_size=1, max_size=30))
def test_plain_lines_are_read_in_bulk(tmp_path_factory, rows):
    """Otherwise the test above would compare one way with itself."""
    path = tmp_path_factory.mktemp("swf") / "a.swf"
    for row in rows:
        row[10] = "1"
    path.write_text("; Key: text\n" + "".join(" ".join(row) + "\n" for row in rows))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SwfLines, "_checked_columns", None)
        assert len(SwfLines(path, RejectedRows()).line) == len(rows)


def test_a_wrong_line_among_many_is_the_only_one_read_slowly(log, monkeypatch):
    """A negative fraction is wrong also in a field of which nothing is made; 5.97 seconds are not."""
    rows = [with_field(1, str(number)) for number in range(1, 101)]
    rows[40] = with_field(6, "5.97", rows[40])
    rows[50] = with_field(6, "-0.5", rows[50])
    path = log("a.swf", "\n".join(rows) + "\n")
    seen = []
    checked = SwfLines._checked_columns

    def noted(self, piece, numbers):
        seen.extend(numbers.tolist())
        return checked(self, piece, numbers)

    monkeypatch.setattr(SwfLines, "_checked_columns", noted)
    with pytest.raises(TraceError, match=r"a\.swf:51: field 6 \(average CPU time\) = '-0\.5'"):
        logs.read(path)
    assert seen == [51]
    lines = SwfLines(path, RejectedRows())
    assert lines.line.tolist() == [number for number in range(1, 101) if number != 51]
    assert lines.take_columns()[1].tolist() == lines.line.tolist()


@pytest.mark.parametrize("bulk", [True, False])
def test_fields_behind_the_18th_are_not_read_and_counted(log, bulk):
    """Some sites append fields of their own, as 21 a line; words too, which are read one by one."""
    surplus = " 7 -1 2.5" if bulk else " 7 -1 n-2"
    text = "; a site's own\n" + "".join(
        with_field(1, str(number)) + surplus + "\n" for number in range(1, 4)
    )
    workload = logs.read(log("a.swf", text))
    assert workload.job_id.tolist() == ["1", "2", "3"]
    assert workload.header[-1] == ("Note", "the 3 fields of each line behind the 18th are not read")
    plain = logs.read(log("b.swf", re.sub(re.escape(surplus), "", text)))
    assert plain.header == workload.header[:-1]
    for name in ("submit", "runtime", "units", "requested_time", "status"):
        assert np.array_equal(getattr(plain, name), getattr(workload, name))


@pytest.mark.parametrize("first", [18, 21])
def test_lines_with_another_number_of_fields_than_the_first_are_wrong(log, first):
    """Two lines that became one are not a line with more fields."""
    good = GOOD + " 1" * (first - 18)
    text = f"{good}\n{with_field(1, '2', good)} {GOOD}\n{with_field(1, '3')} 9\n"
    message = rf"a\.swf:2: the line has {first + 18} fields, must have {first}"
    with pytest.raises(TraceError, match=message):
        logs.read(log("a.swf", text))
    workload = logs.read(log("a.swf", text), skip_bad_lines=True)
    assert dict(workload.set_aside) == {"bad line": 2}


def test_a_wrong_line_does_not_say_how_many_fields_there_are(log):
    """The first right one does; else all others would be wrong."""
    text = f"{with_field(8, '1.5')} 7\n{with_field(1, '2')}\n{with_field(1, '3')}\n"
    workload = logs.read(log("a.swf", text), skip_bad_lines=True)
    assert workload.job_id.tolist() == ["2", "3"]
    assert dict(workload.set_aside) == {"bad line": 1}


LINE = "1 0 0 10 {0} -1 -1 {0} 60 -1 1 1 1 1 1 1 -1 -1\n"


@pytest.mark.parametrize(
    ("header", "note"),
    [
        ("; MaxProcs: 8\n; MaxProcs: 16\n", "the header has MaxProcs twice: 8 and 16"),
        ("; MaxProcs: 2\n", "the header says MaxProcs 2, a job has 4 processors"),
        ("; MaxRecords: 7\n", "the header says MaxRecords 7, the log has 1 line"),
        ("; MaxProcs: 4\n; MaxRecords: 1\n; MaxProcs: 4\n", None),
    ],
)
def test_what_the_header_says_wrongly_is_noted(log, header, note):
    workload = logs.read(log("a.swf", header + LINE.format(4)))
    assert [text for key, text in workload.header if key == "Note"] == ([note] if note else [])
