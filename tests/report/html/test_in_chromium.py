"""The report in a browser: it renders, sorts, shows jobs, and nothing in it runs by accident."""

import pytest

pytest.importorskip("selenium")

from browser_windows import MARKED
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.support.ui import WebDriverWait

pytestmark = pytest.mark.slow

#: All text of what is shown beside the pointer, in Bokeh's own elements.
_TEXTS = """
const texts = [];
const walk = (node) => {
  if (node.nodeType === 3) texts.push(node.data);
  if (node.shadowRoot) walk(node.shadowRoot);
  if (node.tagName !== "SCRIPT" && node.tagName !== "STYLE") node.childNodes.forEach(walk);
};
document.querySelectorAll(".bk-Tooltip").forEach(walk);
return texts.join("\\n");
"""
#: Where the middle of the first rectangle is, in the window.
_MIDDLE = """
const side = chart.sides[0], view = Bokeh.index.get_by_id(side.main.id), data = side.rects.data;
const middle = (a, b) => (a + b) / 2;
const frame = view.frame, box = view.el.getBoundingClientRect();
const at = arguments[0];
return [
  box.left + frame.x_scale.compute(middle(data.left[at], data.right[at])),
  box.top + frame.y_scale.compute(middle(data.top[at], data.bottom[at])),
];
"""


@pytest.fixture
def window(chromium, page):
    """The report, opened from disk and drawn."""
    chromium.get(page.as_uri())
    ready = "return document.documentElement.dataset.ready"
    WebDriverWait(chromium, 60).until(lambda one: one.execute_script(ready) == "yes")
    return chromium


def point(window, at):
    """Point at a rectangle of the first schedule, or away from all."""
    window.execute_script(
        "document.documentElement.style.scrollBehavior = 'auto';"
        "document.getElementById('chart0').scrollIntoView()"
    )
    x, y = (1, 1) if at is None else window.execute_script(_MIDDLE, at)
    actions = ActionChains(window)
    actions.w3c_actions.pointer_action.move_to_location(round(x), round(y))
    actions.perform()


def test_it_renders_without_an_error(window):
    """Figures, tables and the chart are there; the console has no warning and no error."""
    count = "return document.querySelectorAll(arguments[0]).length"
    assert window.execute_script(count, "figure svg") == 7
    assert window.execute_script(count, "table.sortable tbody tr") > 10
    assert (
        window.execute_script("return chart.sides[0].main.left[0].major_label_overrides.get(1)")
        == "n1"
    )
    assert window.execute_script("return chart.sides[0].rects.data.left.length") > 30
    assert [line for line in window.get_log("browser") if line["level"] != "INFO"] == []


def test_a_click_on_a_heading_sorts(window):
    """Numbers by size, and a second click turns the order round."""
    column = """
    const heads = [...document.querySelectorAll("main table")[0].querySelectorAll("thead th")];
    const head = heads.find((one) => one.textContent.includes("Mean wait"));
    head.querySelector("button").click();
    const rows = [...head.closest("table").tBodies[0].rows];
    return rows.map((row) => Number(row.cells[head.cellIndex].dataset.value));
    """
    up, down = window.execute_script(column), window.execute_script(column)
    assert up == sorted(up)
    assert down == sorted(down, reverse=True)
    assert len(set(up)) == 2


def test_days_are_counted_beyond_a_year(window):
    """Of a log without dates: the 400th day is day 400, and every day shown is named."""
    labels = """
    chart.window = [0, 800 * 86400];
    chart.shown.setv({ bounds: null, start: 1000 * arguments[0], end: 1000 * arguments[1] });
    chart.count();
    return [...chart.sides[0].main.below[0].major_label_overrides.values()];
    """
    day = 86400
    assert window.execute_script("return chart.data.epoch") is None
    assert window.execute_script(labels, 0, 800 * day)[:3] == ["day 1", "day 141", "day 281"]
    shown = window.execute_script(labels, 399 * day, 400 * day)
    assert shown[0] == "day 400"
    assert shown[1:3] == ["03:00", "06:00"]
    assert window.execute_script(labels, 399 * day + 3600, 399 * day + 7200)[0] == "01:00\nday 400"


def test_hovering_a_job_shows_it_and_names_are_text(window):
    """A user called like a script is shown as it is called."""
    users = window.execute_script("return chart.sides[0].rects.data.user")
    at = next(index for index, user in enumerate(users) if "script" in user)

    def shown(one):
        return "alert(1)" in one.execute_script(_TEXTS)

    assert not shown(window)
    point(window, at)
    WebDriverWait(window, 20).until(shown)
    text = window.execute_script(_TEXTS)
    assert "<script>alert(1)</script>" in text
    assert "</script><script>document.title='owned'</script>" in text
    assert "<img src=x onerror=alert(3)>" in text


def test_a_job_under_the_pointer_is_marked_in_both_charts(window):
    """All its rectangles, and a sentence on each schedule; away from it nothing is."""
    text = "return document.getElementById('marked').textContent"
    hint = window.execute_script(text)
    job = window.execute_script("return chart.sides[0].rects.data.job[12]")
    point(window, 12)
    WebDriverWait(window, 20).until(lambda one: one.execute_script(text) != hint)
    for left, top, wanted in window.execute_script(MARKED, job):
        assert left == wanted
        assert len(left) == len(top) > 0
    said = window.execute_script(text)
    assert said.startswith(f"Job {job}. ")
    assert said.count(": starts day 1 ") == said.count(" after ") == 2
    point(window, None)
    WebDriverWait(window, 20).until(lambda one: one.execute_script(text) == hint)
    assert [left for left, _, _ in window.execute_script(MARKED, job)] == [[], []]


def test_no_name_is_run(window):
    """Neither the title was changed nor an image asked for, in whatever colours."""
    for mode in ("user", "queue", "wait"):
        window.execute_script(
            "const box = document.getElementById('colour'); box.value = arguments[0];"
            "box.dispatchEvent(new Event('change'))",
            mode,
        )
        if mode == "user":
            assert "<script>alert(1)</script>" in window.execute_script(
                "return document.getElementById('legend').textContent"
            )
    assert window.title != "owned"
    assert window.execute_script("return document.querySelectorAll('img').length") == 0


def test_a_day_can_be_looked_at(window):
    """The buttons move what is shown, within the log."""
    shown = "return [chart.shown.start, chart.shown.end, ...chart.window.map((s) => chart.ms(s))]"
    press = "document.querySelector(`[data-show=${arguments[0]}]`).click();"
    window.execute_script("chart.move(100, 400)")
    assert window.execute_script(shown)[:2] == [100_000, 400_000]
    window.execute_script(press, "on")
    assert window.execute_script(shown)[:2] == [400_000, 700_000]
    window.execute_script(press, "back")
    window.execute_script(press, "all")
    start, end, first, last = window.execute_script(shown)
    assert (start, end) == (first, last)


def test_another_run_and_the_other_theme(window):
    """A run is drawn when it is chosen; axes take the page's colours."""
    before = window.execute_script("return chart.sides[0].rects.data.left.join()")
    window.execute_script(
        "const box = document.querySelector('select.run'); box.value = '1';"
        "box.dispatchEvent(new Event('change'))"
    )
    WebDriverWait(window, 20).until(
        lambda one: one.execute_script("return chart.sides[0].rects.data.left.join()") != before
    )
    ink = "return chart.sides[0].main.left[0].major_label_text_color"
    light = window.execute_script(ink)
    window.execute_script("document.getElementById('theme').click()")
    assert window.execute_script(ink) != light
