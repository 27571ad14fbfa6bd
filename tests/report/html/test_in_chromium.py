"""The report in a browser: it renders, sorts, shows jobs, and nothing in it runs by accident."""

import pytest

pytest.importorskip("selenium")

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
#: Where the middle of a rectangle of the upper chart is, in the window.
_MIDDLE = """
const { view: { child_views: [view] }, plots: [plot] } = layouts[0], at = arguments[0];
const data = plot.renderers.find((one) => one.visible).data_source.data;
const middle = (a, b) => (a + b) / 2, box = view.el.getBoundingClientRect();
return [
  box.left + view.frame.x_scale.compute(middle(data.left[at], data.right[at])),
  box.top + view.frame.y_scale.compute(middle(data.top[at], data.bottom[at])),
];
"""
#: The job numbers selected in the run that each chart shows.
_SELECTED = """
return layouts[0].plots.slice(0, 2).map((plot) => {
  const source = plot.renderers.find((one) => one.visible).data_source;
  return source.selected.indices.map((at) => source.data.job[at]);
});
"""


@pytest.fixture
def window(chromium, page):
    """The report, opened from disk and drawn."""
    chromium.get(page.as_uri())
    ready = "return document.documentElement.dataset.ready"
    WebDriverWait(chromium, 60).until(lambda browser: browser.execute_script(ready) == "yes")
    return chromium


def point(window, at, *, click=False):
    """Point at a rectangle of the upper schedule."""
    window.execute_script("document.querySelector('.gantt').scrollIntoView()")
    x, y = window.execute_script(_MIDDLE, at)
    actions = ActionChains(window)
    actions.w3c_actions.pointer_action.move_to_location(round(x), round(y))
    if click:
        actions.w3c_actions.pointer_action.click()
    actions.perform()


def test_it_renders_without_an_error(window):
    """Figures, tables and charts are there; the console has no warning and no error."""
    count = "return document.querySelectorAll(arguments[0]).length"
    assert window.execute_script(count, "figure svg") == 10
    assert window.execute_script(count, "table tbody tr") > 10
    label = "return layouts[0].plots[0].left[0].major_label_overrides.get(1)"
    assert window.execute_script(label) == "n1"
    assert [line for line in window.get_log("browser") if line["level"] != "INFO"] == []


def test_a_click_on_a_heading_sorts(window):
    """Numbers by size, and a second click reverses the order."""
    column = """
    const heads = [...document.querySelector("main table").querySelectorAll("thead th")];
    const head = heads.find((one) => one.textContent.includes("mean wait"));
    head.querySelector("button").click();
    const rows = [...head.closest("table").tBodies[0].rows];
    return rows.map((row) => Number(row.cells[head.cellIndex].dataset.value));
    """
    up, down = window.execute_script(column), window.execute_script(column)
    assert up == sorted(up)
    assert down == sorted(down, reverse=True)
    assert len(set(up)) == 2


def test_hovering_a_job_shows_it_and_names_are_text(window):
    """A user called like a script is shown as it is called."""
    users = window.execute_script(
        "return [...layouts[0].plots[0].renderers.find((one) => one.visible).data_source.data.user]"
    )
    at = next(index for index, user in enumerate(users) if "script" in user)

    def shown(browser):
        return "alert(1)" in browser.execute_script(_TEXTS)

    assert not shown(window)
    point(window, at)
    WebDriverWait(window, 20).until(shown)
    text = window.execute_script(_TEXTS)
    assert "<script>alert(1)</script>" in text
    assert "</script><script>document.title='owned'</script>" in text
    assert "<img src=x onerror=alert(3)>" in text


def test_no_name_is_run(window):
    """Neither the title was changed nor an image asked for."""
    assert window.title != "owned"
    assert window.execute_script("return document.querySelectorAll('img').length") == 0


def test_a_job_that_is_clicked_is_selected_in_both_charts(window):
    """All its rectangles."""
    job = window.execute_script(
        "return layouts[0].plots[0].renderers.find((one) => one.visible).data_source.data.job[12]"
    )
    assert window.execute_script(_SELECTED) == [[], []]
    point(window, 12, click=True)
    WebDriverWait(window, 20).until(lambda browser: all(browser.execute_script(_SELECTED)))
    above, below = window.execute_script(_SELECTED)
    assert set(above) == set(below) == {job}


def test_a_job_is_selected_by_its_number(window):
    """From the keyboard; a number that no job has selects none."""
    jobs = window.execute_script(
        "return [...layouts[0].plots[0].renderers.find((one) => one.visible).data_source.data.job]"
    )
    box = window.find_element("css selector", ".controls input")
    box.send_keys(jobs[3])
    above, below = window.execute_script(_SELECTED)
    assert set(above) == set(below) == {jobs[3]}
    box.send_keys("x")
    assert window.execute_script(_SELECTED) == [[], []]


def test_another_run_can_be_chosen(window):
    """In the lower chart and in the queue below; the upper one stays."""
    visible = "return layouts[0].plots.map((plot) => plot.renderers.filter((one) => one.visible).map((one) => one.name))"
    assert window.execute_script(visible) == [["0 run0"], ["1 run1"], ["0 run0", "1 run1"]]
    window.execute_script(
        "const box = document.querySelectorAll('.controls select')[1]; box.value = 'run0';"
        "box.dispatchEvent(new Event('change'))"
    )
    assert window.execute_script(visible) == [["0 run0"], ["1 run0"], ["0 run0", "1 run0"]]


def test_both_schedules_show_the_same_time(window):
    ranges = """
    const [above, below] = layouts[0].plots;
    above.x_range.setv({ start: arguments[0], end: arguments[1] });
    return [below.x_range.start, below.x_range.end];
    """
    assert window.execute_script(ranges, 0.1, 0.2) == [0.1, 0.2]


def test_the_other_theme_changes_page_and_charts(window):
    """The canvases are painted again in the page's colours."""
    colour = """
    const { view: { child_views: [chart] }, plots: [plot] } = layouts[0];
    const axis = chart.views.find_one(plot.left[0]);
    return [getComputedStyle(document.body).color, axis.visuals.major_label_text.get_text_color()];
    """
    before = window.execute_script(colour)
    window.execute_script("document.getElementById('theme').click()")
    after = window.execute_script(colour)
    assert before[0] == before[1]
    assert after[0] == after[1] != before[0]
