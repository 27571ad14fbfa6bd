"""
Make the picture of the demo's report: ``make pictures`` (takes Chromium and its driver).

The grid of ten logs is made by ``benchmarks/grid.py``.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from PIL import Image
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

from cpsched.report.html.make import make_report
from cpsched.study import carry_out, load_study

HERE = Path(__file__).resolve().parent
#: The page ends below the card of the finding.
_END = "return document.querySelector('.finding').getBoundingClientRect().bottom + 16"
WIDTH, SCALE = 1100, 1.5


def main(out: Path) -> None:
    """Carry out the demo where it is missing, and photograph its report."""
    carry_out(load_study("demo"), out, jobs=1)
    photograph(make_report(out).page, HERE / "report.png")


def photograph(page: Path, picture: Path) -> None:
    """Take a picture of the top of a page, as a light browser shows it."""
    options = webdriver.ChromeOptions()
    for word in ("headless=new", "no-sandbox", "hide-scrollbars"):
        options.add_argument(f"--{word}")
    browser = webdriver.Chrome(options, Service(shutil.which("chromedriver")))
    try:
        size = {"width": WIDTH, "deviceScaleFactor": SCALE, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {**size, "height": 900})
        browser.get(page.resolve().as_uri())
        size["height"] = round(browser.execute_script(_END))
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        browser.save_screenshot(str(picture))
    finally:
        browser.quit()
    with Image.open(picture) as image:
        image.convert("RGB").quantize(256).save(picture, optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
