"""The report on paper: light, nothing cut by the edge of a page or by its end."""

import base64
import re
import shutil
import subprocess

import pytest

pytest.importorskip("selenium")

from browser_windows import look

pytestmark = pytest.mark.slow

#: A word before each figure and behind it, and at both ends of each row of its tables.
_WORDS = """
const word = (name) => {
  const found = document.createElement("small");
  found.textContent = name;
  return found;
};
const parts = [...document.querySelectorAll("figure, table.lead tr, .gantt")];
parts.filter((one) => one.checkVisibility()).forEach((one, at) => {
  const ends = one.matches("tr") ? [one.cells[0], one.cells[one.cells.length - 1]] : [one, one];
  ends[0].prepend(word(`begin${at}x `));
  ends[1].append(word(` end${at}x`));
});
return parts.length;
"""
#: A4, inches.
_WIDE, _HIGH = 8.27, 11.69


@pytest.fixture
def printed(browser, tmp_path):
    """Print a page as it is shown, and return the PDF."""

    def pdf():
        paper = {"printBackground": True, "paperWidth": _WIDE, "paperHeight": _HIGH}
        found = browser.execute_cdp_cmd("Page.printToPDF", paper)
        path = tmp_path / "report.pdf"
        path.write_bytes(base64.b64decode(found["data"]))
        return path

    return pdf


def poppler(tool, *arguments):
    if shutil.which(tool) is None:
        pytest.skip(f"needs {tool} of poppler")
    return subprocess.run([tool, *map(str, arguments)], check=True, capture_output=True).stdout


def test_on_paper_it_is_light_and_has_no_controls(browser, ten_runs):
    look(browser, ten_runs, 1000, theme="dark", media="print")
    shown = (
        "return [...document.querySelectorAll(arguments[0])].some((one) => one.checkVisibility())"
    )
    assert not browser.execute_script(shown, ".controls, nav, #theme")
    drawings = (
        "return [...document.querySelectorAll('figure')].map((one) =>"
        " [...one.children].filter((child) => child.matches('div') && child.checkVisibility()).length)"
    )
    assert set(browser.execute_script(drawings)) == {1}
    body = "return [getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]"
    assert browser.execute_script(body) == ["rgb(255, 255, 255)", "rgb(31, 41, 51)"]
    browser.execute_script(
        "document.querySelectorAll('details').forEach((one) => { one.open = false; })"
    )
    browser.execute_script("dispatchEvent(new Event('beforeprint'))")
    assert browser.execute_script(shown, "details.printed dl")
    assert not browser.execute_script(shown, "details:not(.printed) table")
    browser.execute_script("dispatchEvent(new Event('afterprint'))")
    assert not browser.execute_script(shown, "details.printed dl")


def test_no_chart_or_row_is_cut_by_the_end_of_a_page(browser, ten_runs, printed):
    """Each begins on the page that it ends on, and all words are inside the margins."""
    look(browser, ten_runs, 1000, media="")
    fold(browser)
    assert browser.execute_script(_WORDS) > 15
    text = poppler("pdftotext", "-bbox", printed(), "-").decode()
    pages = re.findall(r'<page width="([\d.]+)" height="([\d.]+)">(.*?)</page>', text, re.DOTALL)
    ends = {}
    for number, (width, height, content) in enumerate(pages):
        for left, top, right, bottom, word in re.findall(
            r'<word xMin="([-\d.]+)" yMin="([-\d.]+)" xMax="([-\d.]+)" yMax="([-\d.]+)">(.*?)</word>',
            content,
        ):
            assert 0 <= float(left) < float(right) <= float(width), word
            assert 0 <= float(top) < float(bottom) <= float(height), word
            for kind, at in re.findall(r"(begin|end)(\d+)x", word):
                ends.setdefault(int(at), {})[kind] = number
    assert len(ends) > 15
    assert {at: one for at, one in ends.items() if one["begin"] != one["end"]} == {}


def fold(browser):
    """Fold what a reader finds folded."""
    browser.execute_script(
        "document.querySelectorAll('details').forEach((one) => { one.open = false; })"
    )
