"""What the reference says of files is what the code writes."""

import json
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import cpsched
from cpsched.util import resources

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "run-folder.md"
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
