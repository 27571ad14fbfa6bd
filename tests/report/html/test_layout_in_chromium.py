"""The report at three widths, light, dark and on paper: nothing overlaps or is cut off."""

import pytest

pytest.importorskip("selenium")

from browser_windows import MARKED, look
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

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
    if (parent.closest("table.lead thead") && getComputedStyle(parent.closest("thead")).position === "absolute") continue;
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
for (const one of seen(document.body)) {
  const parent = one.parentElement;
  if (parent.closest(".scroll, pre")) continue;
  const chart = parent.closest("figure > div");
  for (const box of chart && chart.scrollWidth > chart.clientWidth ? [] : boxes(one)) {
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
  pairs([...svg.querySelectorAll("text")].map((one) => [one.textContent, shrunk(one.getBoundingClientRect())]), svg.closest("figure").id);
}
for (const table of document.querySelectorAll("table.lead")) {
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


def test_hostile_names_are_not_cut_off_either(browser, page):
    look(browser, page, 390)
    assert browser.execute_script(_CUT) == []


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
        "document.querySelector('table.lead thead th:nth-child(3) button').focus()"
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


def test_both_schedules_show_the_same_time(browser, ten_runs):
    """One chart above the other on one axis; other runs can be chosen for both."""
    look(browser, ten_runs, 1280)
    browser.execute_script("chart.move(86400, 2 * 86400)")
    ranges = "return chart.sides.map((side) => [side.main.x_range.start, side.main.x_range.end])"
    above, below = browser.execute_script(ranges)
    assert above == below == [1000 * (1_400_000_000 + day * 86400) for day in (1, 2)]
    names = "return [0, 1].map((at) => document.getElementById(`name${at}`).textContent)"
    before = browser.execute_script(names)
    assert before[0] == "easy (baseline)"
    browser.execute_script(
        "const box = document.querySelectorAll('select.run')[1]; box.value = '3';"
        "box.dispatchEvent(new Event('change'))"
    )
    WebDriverWait(browser, 20).until(lambda one: one.execute_script(names) != before)
    assert browser.execute_script(names)[0] == before[0]
    # As it was packed: in the order of submits, and no job starts before, or ends before it starts.
    assert browser.execute_script(
        "return chart.sides.every(({ data: { jobs, rects } }) =>"
        " jobs.start.every((one, at) => one >= jobs.submit[at] && jobs.end[at] >= one)"
        " && jobs.submit.every((one, at) => at === 0 || one >= jobs.submit[at - 1])"
        " && rects.end.every((one, at) => one <= jobs.end[rects.job[at]]))"
    )


def test_a_job_can_be_found_by_the_keyboard(browser, ten_runs):
    """Its number typed marks it, and shows the time it starts at; another text marks none."""
    look(browser, ten_runs, 1280)
    job = browser.execute_script("return chart.sides[0].data.ids.at(-1)")
    browser.execute_script("chart.move(0, 86400); document.getElementById('job').focus()")
    box = browser.switch_to.active_element
    box.send_keys(job)
    above, below = browser.execute_script(MARKED, job)
    assert above[0] == above[2] != []
    assert below[0] == below[2]
    start, end = browser.execute_script("return [chart.shown.start, chart.shown.end]")
    assert start <= above[0][0] < end
    box.send_keys("x")
    assert browser.execute_script(MARKED, job)[0][0] == []
    assert "not drawn" in browser.execute_script(
        "return document.getElementById('marked').textContent"
    )


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
