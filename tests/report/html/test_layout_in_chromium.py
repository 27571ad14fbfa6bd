"""The report at three widths, light, dark and on paper: nothing overlaps or is cut off."""

import base64
import re
import shutil

import pytest

pytest.importorskip("selenium")

from browser_windows import look
from selenium.webdriver.common.keys import Keys

pytestmark = pytest.mark.slow

WIDTHS, THEMES = (390, 1280, 1920), ("light", "dark")
#: Bytes that a page of ten runs may take.
LARGEST = 2_000_000
#: What is seen: text nodes and their boxes, but for what scrolls and what only readers hear.
_TEXTS = """
const seen = (node) => {
  const walk = document.createTreeWalker(node, NodeFilter.SHOW_TEXT), found = [];
  while (walk.nextNode()) {
    const one = walk.currentNode, parent = one.parentElement;
    if (!one.data.trim() || parent.closest("script, style, .sr, .skip, option, noscript")) continue;
    if (!parent.checkVisibility()) continue;
    if (parent.closest("thead") && getComputedStyle(parent.closest("thead")).position === "absolute") continue;
    found.push(one);
  }
  return found;
};
const boxes = (node) => {
  const range = document.createRange();
  range.selectNodeContents(node);
  return [...range.getClientRects()];
};
"""
_CUT = (
    _TEXTS
    + """
const wide = document.documentElement.clientWidth, found = [];
const scroll = document.documentElement.scrollWidth;
if (scroll > wide) found.push(`the page is ${scroll} px wide`);
for (const box of document.querySelectorAll("main *")) {
  /* Nothing scrolls in its box. */
  if (box.checkVisibility() && !box.closest("svg, .gantt, thead, .sr") && getComputedStyle(box).display !== "inline"
      && box.scrollWidth > box.clientWidth + 1) found.push(`scrolls: ${box.tagName} ${box.textContent.trim().slice(0, 40)}`);
}
for (const one of seen(document.body)) {
  const parent = one.parentElement;
  for (const box of boxes(one)) {
    if (box.left < -0.5 || box.right > wide + 0.5) found.push(`outside: ${one.data.trim()}`);
  }
  const cell = parent.closest("td, th, figcaption, p, dd, h1, h2, h3");
  if (cell && cell.scrollWidth > cell.clientWidth + 1) found.push(`cut: ${one.data.trim()}`);
  const svg = parent.closest("svg");
  if (svg) {
    const frame = svg.getBoundingClientRect(), box = parent.getBoundingClientRect();
    if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1
        || box.bottom > frame.bottom + 1) found.push(`outside its chart: ${one.data.trim()}`);
  }
}
return found;
"""
)
_OVER = (
    _TEXTS
    + """
const found = [], slack = arguments[0];
const hit = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > slack
  && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > slack;
const pairs = (some, where) => some.forEach(([text, box], at) => {
  for (const [other, next] of some.slice(0, at)) if (hit(box, next)) found.push(`${where}: ${text} / ${other}`);
});
for (const svg of document.querySelectorAll("figure svg")) {
  if (!svg.checkVisibility()) continue;
  /* A box has room above and below its letters. */
  const shrunk = (box) => ({ left: box.left, right: box.right, top: box.top + box.height * 0.18, bottom: box.bottom - box.height * 0.18 });
  pairs([...svg.querySelectorAll("text")].map((one) => [one.textContent, shrunk(one.getBoundingClientRect())]), svg.closest("figure").querySelector("[aria-label]").ariaLabel.slice(0, 40));
}
for (const table of document.querySelectorAll("table")) {
  pairs(seen(table).flatMap((one) => boxes(one).map((box) => [one.data.trim(), box])), "table");
}
pairs(seen(document.querySelector("header")).flatMap((one) => boxes(one).map((box) => [one.data.trim(), box])), "header");
pairs(seen(document.querySelector(".controls")).flatMap((one) => boxes(one).map((box) => [one.data.trim(), box])), "controls");
return found;
"""
)
_PALE = (
    _TEXTS
    + """
const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
const known = new Map();
const rgb = (text) => {
  if (!known.has(text)) {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = text; canvas.fillRect(0, 0, 1, 1);
    known.set(text, [...canvas.getImageData(0, 0, 1, 1).data]);
  }
  return known.get(text);
};
const light = ([r, g, b]) => {
  const of = (one) => (one /= 255, one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
  return 0.2126 * of(r) + 0.7152 * of(g) + 0.0722 * of(b);
};
const below = (node) => {
  for (let one = node; one; one = one.parentElement) {
    const colour = rgb(getComputedStyle(one).backgroundColor);
    if (colour[3] === 255) return colour;
  }
  return [255, 255, 255];
};
const found = new Set();
for (const one of seen(document.body)) {
  const parent = one.parentElement, style = getComputedStyle(parent);
  const ink = light(rgb(parent.closest("svg") ? style.fill : style.color)), paper = light(below(parent));
  const contrast = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
  if (contrast < 4.5) found.add(`${contrast.toFixed(2)}: ${one.data.trim()}`);
}
return [...found];
"""
)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_cut_off_or_covered(browser, ten_runs, width, theme):
    """Texts of charts, cells and labels are inside the window and their chart, and apart."""
    look(browser, ten_runs, width, theme)
    assert browser.execute_script(_CUT) == []
    assert browser.execute_script(_OVER, 1) == []
    assert [line for line in browser.get_log("browser") if line["level"] != "INFO"] == []


@pytest.mark.parametrize("width", WIDTHS)
def test_hostile_names_are_not_cut_off_either(browser, page, width):
    look(browser, page, width)
    assert browser.execute_script(_CUT) == []


@pytest.mark.parametrize("width", [390, 1280])
def test_a_summary_is_not_cut_off(browser, ten_folder, tmp_path, width):
    """And with six runs it is one page of paper."""
    pytest.importorskip("matplotlib")
    from cpsched.report.html.make import make_summary

    for run in sorted(ten_folder.iterdir())[:6]:
        shutil.copytree(run, tmp_path / run.name)
    summary = make_summary(tmp_path, baseline="easy")
    look(browser, summary, width)
    assert browser.execute_script(_CUT) == []
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
    printed = browser.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})
    assert len(re.findall(rb"/Type\s*/Page\b", base64.b64decode(printed["data"]))) == 1


def test_tables_and_charts_need_no_script(browser, ten_runs, tmp_path):
    """What a browser without JavaScript shows: all tables, and the nodes as a picture."""
    still = tmp_path / "still.html"
    text = ten_runs.read_text()
    still.write_text(text.replace("script-src 'unsafe-inline';", ""))
    browser.get(still.as_uri())
    assert browser.execute_script("return document.documentElement.dataset.ready") is None
    rows = "return document.querySelectorAll('table tbody tr').length"
    assert browser.execute_script(rows) > 100
    assert "@media screen and (scripting: none)" in text


@pytest.mark.parametrize("theme", THEMES)
def test_all_text_can_be_read(browser, ten_runs, theme):
    """A contrast of 4.5 at least (WCAG 2.2, AA), in charts too."""
    look(browser, ten_runs, 1280, theme)
    assert browser.execute_script(_PALE) == []


def test_every_chart_says_in_words_what_it_shows(browser, ten_runs):
    look(browser, ten_runs, 1280)
    alts = browser.execute_script(
        "return [...document.querySelectorAll('figure > div')].map((one) =>"
        " [one.getAttribute('role'), one.getAttribute('aria-label'), one.children.length])"
    )
    assert len(alts) > 5
    for role, words, children in alts:
        assert (role, children) == ("img", 1)
        assert len(words) > 30
        assert any(char.isdigit() for char in words), words


def test_it_is_small(ten_runs):
    """How fast it opens is measured: benchmarks/report_page.py."""
    assert ten_runs.stat().st_size < LARGEST


def test_the_keyboard_is_enough(browser, ten_runs):
    """The first stop skips to the finding, a heading sorts, and what has the focus shows it."""
    look(browser, ten_runs, 1280)
    active = "return document.activeElement.className"
    browser.switch_to.active_element.send_keys(Keys.TAB)
    assert browser.execute_script(active) == "skip"
    assert browser.execute_script("return document.activeElement.getBoundingClientRect().top >= 0")
    browser.execute_script(
        "document.querySelector('main table thead th:nth-child(3) button').focus()"
    )
    browser.switch_to.active_element.send_keys(Keys.ENTER)
    assert (
        browser.execute_script(
            "return document.activeElement.closest('th').getAttribute('aria-sort')"
        )
        == "ascending"
    )
    stops = []
    for _ in range(12):
        browser.switch_to.active_element.send_keys(Keys.TAB)
        stops.append(
            browser.execute_script("return getComputedStyle(document.activeElement).outlineStyle")
        )
    assert set(stops) == {"solid"}


def test_on_paper_it_is_light_and_has_no_controls(browser, ten_runs):
    look(browser, ten_runs, 1000, theme="dark", media="print")
    shown = (
        "return [...document.querySelectorAll(arguments[0])].some((one) => one.checkVisibility())"
    )
    assert not browser.execute_script(shown, ".controls, nav, #theme, .gantt")
    assert browser.execute_script(shown, ".paper svg")
    drawings = (
        "return [...document.querySelectorAll('figure:not(.narrow)')].map((one) =>"
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
    assert not browser.execute_script(shown, ".card > details:not(.printed) table")
    browser.execute_script("dispatchEvent(new Event('afterprint'))")
    assert not browser.execute_script(shown, "details.printed dl")
