"""How lines of sacct are divided: delimiters, headers, texts that hold anything."""

import re

import pytest

from cpsched import logs
from cpsched.errors import TraceError
from cpsched.logs.sacct.write import HEADER

NAMES = (
    "JobID|JobName|User|Account|Partition|State|Submit|Start|End|ElapsedRaw|TimelimitRaw"
    "|ReqTRES|AllocTRES|NNodes|SubmitLine"
)
ROW = (
    "7|name|ann|phys|cpu|COMPLETED|2024-03-01T10:00:00|2024-03-01T10:01:00|2024-03-01T10:03:00|120"
    "|60|cpu=4,mem=4G,node=2|cpu=4,mem=4G,node=2|2|sbatch job.sh"
)


def row(**changes):
    """Return the line above with some columns changed."""
    cells = dict(zip(NAMES.split("|"), ROW.split("|"), strict=True)) | changes
    return "|".join(cells.values())


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("a|b", "sbatch job.sh"),
        ("|", "sbatch job.sh"),
        ("a|b|ann|phys", "sbatch job.sh"),
        ("plain", "sbatch --wrap cat a | sort | uniq"),
        ("a|b", "sbatch -J a|b --wrap cat a | sort"),
        ("a|b", "sbatch -J a|b --wrap cat a |\n sort |\n uniq"),
        ("plain", "sbatch --wrap echo a\n8|no job\nls"),
    ],
)
def test_a_delimiter_in_a_text_belongs_to_the_text(log, name, command):
    path = log("a.sacct", "\n".join([NAMES, row(JobName=name, SubmitLine=command), row(JobID="9")]))
    workload = logs.read(path)
    assert workload.job_id.tolist() == ["7", "9"]
    assert workload.name.decode() == [name, "name"]
    assert workload.user.decode() == ["ann", "ann"]
    assert workload.runtime.tolist() == [120, 120]


def test_features_may_hold_the_delimiter(log):
    path = log("a.sacct", f"{NAMES}|Constraints\n{ROW}|v100|a100\n")
    assert logs.read(path).constraint.decode() == ["v100|a100"]


def test_a_line_that_cannot_be_divided_is_an_error(log):
    """No text among these columns could have the surplus."""
    header = "JobID|User|State|Submit|Start|End|AllocTRES"
    line = "7|a|b|COMPLETED|2024-03-01T10:00:00|2024-03-01T10:01:00|2024-03-01T10:03:00|cpu=1"
    path = log("a.sacct", f"{header}\n{line}\n7\n")
    with pytest.raises(
        TraceError, match=re.escape("a.sacct:2: the line has 8 columns, and the header has 7")
    ):
        logs.read(path)
    path = log("a.sacct", f"{header}\n7\n{line.replace('|b', '')}\nmore\n")
    workload = logs.read(path, skip_bad_lines=True)
    assert workload.set_aside == (("bad line", 2),)
    assert ("Excluded", "bad line: line 2, line 4") in workload.header


@pytest.mark.parametrize("end", ["", "|"])
@pytest.mark.parametrize("delimiter", ["|", ";", "\t", "@@", "|~|", ":::"])
def test_any_delimiter_is_read(log, differences, delimiter, end):
    plain = log("a.sacct", "\n".join([NAMES, ROW, row(JobID="8_[1-3,7]", State="PENDING")]))
    text = "\n".join(
        line.replace("|", delimiter) + end.replace("|", delimiter)
        for line in plain.read_text().splitlines()
    )
    path = log("b.txt", text)
    assert logs.detect(path) == "sacct"
    names = set(differences(logs.read(plain), logs.read(path)))
    assert names - {"header"} == {"title"}


def test_commas_between_columns_are_refused(log):
    path = log("a.txt", f"{NAMES}\n{ROW}\n".replace("|", ","))
    with pytest.raises(
        TraceError, match="commas between and within columns. Use sacct --parsable2"
    ):
        logs.read(path)


def test_headers_of_joined_exports_are_read_once(log):
    path = log("a.sacct", "\n".join([NAMES, ROW, NAMES, row(JobID="8"), ROW]))
    workload = logs.read(path)
    assert workload.job_id.tolist() == ["7", "8"]
    assert workload.set_aside == (("repeated line", 1),)
    assert ("Excluded", "repeated line: 0.1 core-hours; 7") in workload.header


def test_a_header_is_needed(log):
    with pytest.raises(TraceError, match="is not a header of sacct --parsable2"):
        logs.read(log("a.txt", f"{ROW}\n"), format="sacct")


def test_comments_before_the_header_are_passed_over(log, differences):
    plain = log("a.sacct", f"{NAMES}\n{ROW}\n")
    path = log("b.txt", f"# of March\n\n#\n{NAMES}\n{ROW}\n")
    assert logs.detect(path) == "sacct"
    assert differences(logs.read(plain), logs.read(path)) == ["title"]


def test_bytes_that_are_not_utf8_are_latin_1(log):
    lines = [NAMES.encode(), row(JobName="J\xf6rg").encode("latin-1"), row(JobID="8").encode()]
    workload = logs.read(log("a.sacct", b"\n".join(lines)))
    assert workload.name.decode() == ["J\xf6rg", "name"]
    assert ("Note", "lines that are not UTF-8 and were read as Latin-1: 1") in workload.header


def test_the_documented_columns_are_those_of_the_page():
    """docs/guides/read-a-log.md and the reader name the same columns in the same order."""
    from pathlib import Path

    page = Path(__file__).parents[2] / "docs" / "guides" / "read-a-log.md"
    command = re.search(r"^TZ=UTC .*?-o (\S+)", page.read_text().replace("\\\n", ""), re.MULTILINE)
    assert command is not None
    assert command[1].replace(",", "|") == HEADER
