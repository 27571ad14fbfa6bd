"""Pages of measurements show their data files whole, draw few conclusions, and name scripts that exist."""

from __future__ import annotations

import csv
import re
from collections import Counter
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "measurements"
PAGES = sorted(path.stem for path in FOLDER.glob("*.md"))
DATA = sorted(path.name for path in (FOLDER / "data").glob("*"))
SCRIPT = re.compile(r"\b(?:benchmarks|data)/[\w./-]+\.(?:py|toml|jsonl)\b")


def text(page: str) -> str:
    return (FOLDER / f"{page}.md").read_text(encoding="utf-8")


def tables(page: str) -> list[str]:
    """Return the data files of a page's tables, as Markdown's own rules find them."""
    blocks = [block for block in MarkdownIt().parse(text(page)) if block.type == "fence"]
    shown = [block.content for block in blocks if block.info.startswith("{csv-table}")]
    return [name for content in shown for name in re.findall(r"^:file: data/(\S+)", content, re.M)]


def test_every_data_file_is_shown_once():
    """A caption with backquotes in a fence of backquotes is no table."""
    assert Counter(name for page in PAGES for name in tables(page)) == Counter(DATA)


@pytest.mark.parametrize("name", DATA)
def test_rows_of_a_data_file_are_as_wide_as_its_head(name):
    with (FOLDER / "data" / name).open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    assert rows
    assert {len(row) for row in rows} == {len(head)}


@pytest.mark.parametrize("page", [page for page in PAGES if page != "index"])
def test_a_page_begins_with_a_question_and_at_most_ten_conclusions(page):
    found = re.match(r"# .+?\n\n(.+?)\n\n## Results\n\n(.+?)(?=\n\n)", text(page), re.S)
    assert found
    assert "?" in found[1]
    assert 1 <= len(re.findall(r"^- ", found[2], re.M)) <= 10


@pytest.mark.parametrize("page", PAGES)
def test_scripts_and_studies_that_a_page_names_exist(page):
    named = SCRIPT.findall(text(page))
    assert [path for path in named if not (ROOT / path).exists()] == []
