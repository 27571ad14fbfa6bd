"""The sheet in a browser: one page of paper, and nothing wider than a telephone."""

import base64
import re

import pytest
from notebooks import four_cores, four_jobs

from cpsched.api import what_if
from decision_sheet.content import content
from decision_sheet.page import page

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("number", [1, 4])
def test_it_is_one_page_of_a4_and_fits_a_telephone(number, chromium, tmp_path):
    name = "a name of a queue that is as long as anybody would write "
    log = four_jobs(queue=[name + "one", name + "two"] * 2)
    labels = [f"{name}{at}: scale-load {at + 2}" for at in range(number)]
    what_if(log, labels, system=four_cores(), out=tmp_path / "out")
    file = tmp_path / "sheet.html"
    file.write_text(page(content(tmp_path / "out")))
    chromium.get(file.as_uri())
    size = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    chromium.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    assert chromium.execute_script("return document.documentElement.scrollWidth") <= 390
    chromium.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    printed = chromium.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})
    pages = re.findall(rb"/Type */Page\b", base64.b64decode(printed["data"]))
    assert len(pages) == 1
    assert chromium.get_log("browser") == []
