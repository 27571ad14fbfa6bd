"""The pages and files that our pages, docstrings and comments refer to exist."""

import re
from functools import cache
from pathlib import Path

import pytest
from site_parts import extension

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for pages in (
        ROOT.glob("*.md"),
        (ROOT / "docs").rglob("*.md"),
        (ROOT / "benchmarks").glob("*.md"),
    )
    for path in pages
)
SOURCES = sorted(
    path.relative_to(ROOT).as_posix()
    for where in (
        "cpsched",
        "predictors",
        "accasim_adapter",
        "benchmarks",
        "data",
    )
    for path in (ROOT / where).rglob("*")
    if path.suffix in {".py", ".toml", ".html"}
)
#: ``[text](target)``; a target ends at a space or bracket.
LINK = re.compile(r"\]\(([^)\s]+)\)")
#: What a table of contents of the site lists: pages of the same folder, by name or all of them.
CONTENTS = re.compile(r"```\{toctree\}\n(.*?)```", re.DOTALL)
#: A page, or a file of ours, in backquotes.
NAMED = re.compile(r"`(?:python )?((?:docs|benchmarks|examples|data)/[\w./-]+\.\w+)(#[\w-]+)?")
#: A page in text of any kind.
PAGE = re.compile(r"\bdocs/(?:[\w-]+/)*[\w-]+\.md\b")


def text(page):
    return (ROOT / page).read_text(encoding="utf-8")


@cache
def anchors(page):
    """Return the names of a page's headings in links, as on GitHub; generated ones included."""
    content = text(page)
    if "<!-- generated:" in content:
        content = extension("generated").filled(content)
    counts = {}
    names = set()
    for heading in re.findall(r"^#+ +(.+?) *$", re.sub(r"(?ms)^```.*?^```", "", content), re.M):
        name = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        counts[name] = counts.get(name, -1) + 1
        names.add(f"{name}-{counts[name]}" if counts[name] else name)
    return names


def broken(page):
    """Return the links of a page without a target."""
    links = [(link, (ROOT / page).parent) for link in LINK.findall(text(page))]
    links += [(path + anchor, ROOT) for path, anchor in NAMED.findall(text(page))]
    missing = []
    for link, base in links:
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (base / path).resolve() if path else ROOT / page
        if not target.exists() or (
            anchor and anchor not in anchors(target.relative_to(ROOT).as_posix())
        ):
            missing.append(link)
    return missing


@pytest.mark.parametrize("page", [page for page in PAGES if page != "CHANGELOG.md"])
def test_links_of_a_page_lead_somewhere(page):
    assert broken(page) == []


def test_pages_that_code_refers_to_exist():
    """In docstrings, comments and messages."""
    named = {(path, page) for path in SOURCES for page in PAGE.findall(text(path))}
    assert len(named) > 10
    assert [(path, page) for path, page in sorted(named) if not (ROOT / page).exists()] == []


def test_every_page_is_reached_from_the_readme():
    """Directly or through pages it names."""
    seen, ahead = set(), ["README.md"]
    while ahead:
        page = ahead.pop()
        if page in seen or not page.endswith(".md"):
            continue
        seen.add(page)
        ahead += [named for named in PAGE.findall(text(page)) if (ROOT / named).exists()]
        for link in LINK.findall(text(page)):
            target = ((ROOT / page).parent / link.partition("#")[0]).resolve()
            if target.is_file():
                ahead.append(target.relative_to(ROOT).as_posix())
        for line in "\n".join(CONTENTS.findall(text(page))).split():
            if not line.startswith(":"):
                listed = (ROOT / page).parent.glob(f"{line}.md")
                ahead += [target.relative_to(ROOT).as_posix() for target in listed]
    assert {page for page in PAGES if page.startswith("docs/")} <= seen


def test_pages_that_words_lead_to_exist():
    findable = extension("findable")
    missing = [page for page in findable.WORDS if not (ROOT / "docs" / f"{page}.md").is_file()]
    assert missing == []
    words = ", ".join(findable.WORDS.values()).split(", ")
    assert len(words) == len(set(words))
