"""How large the report of ten runs is, and how soon Chromium shows it."""

from __future__ import annotations

import argparse
import csv
import gzip
import shutil
import tempfile
from pathlib import Path
from statistics import median

from measure import HERE, BenchmarkError
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait

from cpsched.report.html.make import make_report
from cpsched.study import carry_out, load_study

TABLE = HERE / "results" / "data" / "report-page.csv"
#: The width of each window, in pixels.
WINDOWS = {"desktop, 1,280 px": 1280, "phone, 390 px": 390}
#: Returns milliseconds from the beginning of the navigation, in the order of `TIMES`.
_SCRIPT = """
const [page] = performance.getEntriesByType("navigation");
const [paint] = performance.getEntriesByName("first-contentful-paint");
return [paint.startTime, page.domContentLoadedEventEnd, window.drawn];
"""
TIMES = ("first paint [s]", "DOMContentLoaded [s]", "schedules drawn [s]")
#: The page marks itself when its schedules are drawn.
_WATCH = """
new MutationObserver(() => {
  if (document.documentElement.dataset.ready) window.drawn ??= performance.now();
}).observe(document, { attributes: true, subtree: true });
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="keep the study's runs in this folder")
    parser.add_argument("--loads", type=int, default=9, help="loads of the page a window")
    parser.add_argument("--table", type=Path, default=TABLE, help="CSV file to write")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        out = arguments.out or Path(scratch)
        carry_out(load_study(HERE / "report-page.toml"), out)
        report = make_report(out)
        rows = [
            {"window": name, **measured(report.page, width, arguments.loads)}
            for name, width in WINDOWS.items()
        ]
    with arguments.table.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    print(arguments.table.read_text(encoding="utf-8"), end="")


def measured(page: Path, width: int, loads: int) -> dict[str, str]:
    """Return the size of a page, and medians of what its loads took at a width."""
    content = page.read_bytes()
    measurements = [load(page, width) for _ in range(loads)]
    return {
        "size [MB]": f"{len(content) / 1e6:.2f}",
        "gzipped [MB]": f"{len(gzip.compress(content, 6, mtime=0)) / 1e6:.2f}",
        **{name: f"{median(times[name] for times in measurements):.2f}" for name in TIMES},
    }


def load(page: Path, width: int) -> dict[str, float]:
    """Open a page in a new browser, so that nothing is there already."""
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if browser is None or driver is None:
        raise BenchmarkError("needs chromium and chromedriver")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for argument in ("headless", "no-sandbox", "disable-gpu", "disable-background-networking"):
        options.add_argument(f"--{argument}")
    window = webdriver.Chrome(options=options, service=Service(driver))
    try:
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        window.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        window.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": _WATCH})
        window.get(page.absolute().as_uri())
        drawn = "return window.drawn !== undefined"
        WebDriverWait(window, 120).until(lambda _: window.execute_script(drawn))
        times = window.execute_script(_SCRIPT)
        return {name: ms / 1000 for name, ms in zip(TIMES, times, strict=True)}
    finally:
        window.quit()


if __name__ == "__main__":
    main()
