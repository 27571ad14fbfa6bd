"""Pages of measurements show their data files whole, draw few conclusions, and name scripts that exist."""

import csv
import re
from collections import Counter
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = [ROOT / "docs" / "measurements", ROOT / "benchmarks" / "results"]
PAGES = sorted(path for folder in FOLDERS for path in folder.glob("*.md"))
DATA = sorted(path for folder in FOLDERS for path in (folder / "data").glob("*"))
LINK = re.compile(r"\]\((data/[\w.-]+)\)")


def tables(page):
    """Return the data files of a page's tables, as Markdown's own rules find them."""
    text = page.read_text(encoding="utf-8")
    blocks = [block for block in MarkdownIt().parse(text) if block.type == "fence"]
    shown = [block.content for block in blocks if block.info.startswith("{csv-table}")]
    named = [name for content in shown for name in re.findall(r"^:file: (\S+)", content, re.M)]
    return [page.parent / name for name in named + LINK.findall(text)]


def test_every_data_file_is_shown_once():
    """A caption with backquotes in a fence of backquotes is no table."""
    assert Counter(name for page in PAGES for name in tables(page)) == Counter(DATA)


@pytest.mark.parametrize("path", DATA, ids=[path.name for path in DATA])
def test_rows_of_a_data_file_are_as_wide_as_its_head(path):
    with path.open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    assert rows
    assert {len(row) for row in rows} == {len(head)}
