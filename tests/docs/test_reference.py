"""Files and output have the columns and keys that the reference names."""

import json
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import cpsched
from cpsched.study.comparisons import Result
from cpsched.util import resources

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reference" / "run-folder.md"
#: Columns that a run has only if something of the kind happened.
SOMETIMES = {"leaving", "known"}


def _named(section):
    """Return what the first column of a section's table names."""
    pattern = rf"^##? {re.escape(section)}\n(.*?)(?=^##+ |\Z)"
    (text,) = re.findall(pattern, PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    cells = re.findall(r"^\| (`.*?) \|", text, re.MULTILINE)
    return [name for cell in cells for name in re.findall(r"`([^`]+)`", cell)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run in which a node was down."""
    made = tmp_path_factory.mktemp("run")
    outages = made / "outages.csv"
    log = cpsched.read_log(resources.path("logs", "eurora-sample.csv.gz")).select(first=50)
    first = int(log.submit[0])
    outages.write_text(f"node,from,to\nnode001,{first},{first + 3600}\n")
    settings = cpsched.Settings(outages=f"table:file={outages}")
    run = cpsched.simulate(log, cpsched.load_system("eurora"), dispatcher="easy", settings=settings)
    cpsched.save_run(run, made / "run")
    return made / "run"


@pytest.mark.parametrize(
    "file", ["jobs.parquet", "allocations.parquet", "queue.parquet", "outages.parquet"]
)
def test_columns_are_those_of_the_page(file, folder):
    """By name and in their order; ``amount.R`` is a column for each resource."""
    written = [re.sub(r"\.\w+$", ".R", name) for name in pq.read_schema(folder / file).names]
    named = [name for name in _named(f"`{file}`") if name not in SOMETIMES]
    assert list(dict.fromkeys(written)) == named


def test_keys_of_run_json_are_those_of_the_page(folder):
    assert set(json.loads((folder / "run.json").read_text())) == set(_named("`run.json`"))


def test_files_are_those_of_the_page(folder):
    assert {file.name for file in folder.iterdir()} == set(_named("The files of a run"))


def test_columns_of_results_are_those_of_the_page():
    """The labels of the baseline, and the ends of an interval, are one entry."""
    page = (PAGE.parent / "study.md").read_text("utf-8")
    table = page.partition("| column of `results.csv` |")[2].partition("\n\n")[0]
    named = {name for cell in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)
             for name in re.findall(r"`([\w.]+)`", cell)}  # fmt: skip
    labels = ("log", "eurora", "easy", "requested")
    row = Result(
        run=labels, allocator=None, group=("all", "all"), metric="wait_mean_s", value=1.0,
        repetitions=1,
    ).as_row()  # fmt: skip
    columns = {re.sub(r"^base_.*", "base_...", re.sub(r"_(low|high)$", "", name)) for name in row}
    assert columns == named - {"_low", "_high"}


def test_every_schema_of_json_is_on_the_page():
    """As the commands name them; what a log's answer holds is for its own page."""
    written = set()
    for file in (ROOT / "cpsched").rglob("*.py"):
        written |= set(re.findall(r'print_json\(\s*"([\w.-]+)"', file.read_text("utf-8")))
    named = set(re.findall(r"cpsched\.([\w.-]+)/\d", PAGE.read_text("utf-8")))
    assert written - {"negotiation"} <= named
