"""What readers look for in the documentation leads to the page that answers it."""

import json
import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "build" / "docs"
#: What is typed, and the page that must come first.
ASKED = {
    "maintenance": "guides/what-if",
    "outage": "guides/what-if",
    "export csv": "guides/report",
    "GPU": "guides/systems",
    "citation": "cite",
    "cite": "cite",
    "install": "installation",
    "licence": "guides/slurm",
    "SDPRB": "glossary",
}
#: The site's own search, without its page.
PAGE = """<!doctype html><html data-content_root="./"><body><p></p>
<script src="_static/documentation_options.js"></script><script src="_static/doctools.js"></script>
<script src="_static/sphinx_highlight.js"></script><script src="_static/language_data.js"></script>
<script src="_static/searchtools.js"></script>
<script src="searchindex.js"></script><script>
document.querySelector("p").textContent = JSON.stringify(%s.map(asked => {
  const found = Search._performSearch(...Search._parseQuery(asked));
  return found.length ? found[found.length - 1][0] : null;
}));
</script></body></html>"""


def test_pages_that_words_lead_to_exist(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs" / "_ext")
    pytest.importorskip("sphinx")
    findable = import_module("findable")

    sys.modules.pop("findable")
    missing = [page for page in findable.WORDS if not (ROOT / "docs" / f"{page}.md").is_file()]
    assert missing == []
    words = ", ".join(findable.WORDS.values()).split(", ")
    assert len(words) == len(set(words))


@pytest.mark.slow
def test_the_first_hit_is_the_page_that_answers(tmp_path):
    """In the site as ``make docs`` has left it."""
    browser = shutil.which("chromium")
    if browser is None or not (SITE / "searchindex.js").is_file():
        pytest.skip("needs chromium, and the site that make docs builds")
    for file in (*(SITE / "_static").glob("*.js"), SITE / "searchindex.js"):
        copy = tmp_path / file.relative_to(SITE)
        copy.parent.mkdir(exist_ok=True)
        copy.write_bytes(file.read_bytes())
    (tmp_path / "page.html").write_text(PAGE % json.dumps(list(ASKED)))
    options = ("--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'own'}")
    shown = subprocess.run(
        [browser, *options, "--dump-dom", (tmp_path / "page.html").as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    ).stdout
    (first,) = re.findall(r"<p>(.*?)</p>", shown)
    assert dict(zip(ASKED, json.loads(first), strict=True)) == ASKED


def test_the_citation_has_the_version_of_the_package():
    project = (ROOT / "pyproject.toml").read_text()
    version = re.search(r'^version = "(.+)"', project, re.M)[1]
    for page in ("CITATION.cff", "docs/cite.md"):
        assert re.search(rf"version *[:=] *\{{?{re.escape(version)}\b", (ROOT / page).read_text())
