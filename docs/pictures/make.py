"""
Make the pictures of the README from the demo: ``make pictures`` (takes Chromium and its driver).

The report is photographed as a browser shows it; EASY beside two better orders is drawn from the
first run of each.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

from cpsched.base import words
from cpsched.figures.style import canvas, moments, save, styled
from cpsched.metrics.steps import waiting
from cpsched.report.make import make_report
from cpsched.study import carry_out, load_run, load_study

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from cpsched.study import SavedRun

HERE = Path(__file__).resolve().parent
#: What is compared, in its colour: those that colour-blind readers tell apart.
RUNS = {"EASY": "#4d4d4d", "EASY by urgency": "#d55e00", "CP": "#0072b2"}
WIDTH, HEIGHT = 1280, 900


def main(out: Path) -> None:
    """Carry out the demo where it is missing, and make both pictures."""
    carry_out(load_study("demo"), out, jobs=1)
    photograph(make_report(out).page, HERE / "report.png")
    runs = {run.about["arguments"]["dispatcher"]: run for run in _first(out)}
    with styled("easy-and-cp"):
        figure = canvas(9, 3.2)
        queue, tail = figure.subplots(1, 2, width_ratios=(3, 2))
        draw_queue(queue, runs)
        draw_tail(tail, runs)
        (HERE / "easy-and-cp.svg").write_bytes(save(figure, "svg"))


def _first(out: Path) -> list[SavedRun]:
    runs = map(load_run, sorted((out / "runs").iterdir()))
    return [run for run in runs if run.about["arguments"]["seed"] == 1]


def draw_queue(axes: Axes, runs: dict[str, SavedRun]) -> None:
    """Jobs that wait, over time: means of an hour."""
    for name, colour in RUNS.items():
        schedule = runs[name].schedule
        edges = np.arange(schedule.workload.submit.min(), schedule.end.max(), 3600)
        means = waiting(schedule).means(edges)
        axes.fill_between(edges[:-1], means, step="post", color=colour, alpha=0.15, linewidth=0)
        axes.plot(edges[:-1], means, color=colour, linewidth=1.2, label=name)
    schedule = runs["EASY"].schedule
    moments(axes, schedule.workload.epoch, edges[0], edges[-1])
    axes.set(title="jobs waiting", ylim=(0, None))
    axes.legend(frameon=False, loc="upper left")


def draw_tail(axes: Axes, runs: dict[str, SavedRun]) -> None:
    """Share of the jobs that wait longer than so many seconds: the gain, and its price."""
    for line, (name, colour) in enumerate(RUNS.items()):
        schedule = runs[name].schedule
        wait = np.sort(schedule.start - schedule.workload.submit)
        seconds = np.append(np.geomspace(30, wait[-1], 120), wait[-1])
        share = 1 - np.searchsorted(wait, seconds, side="left") / len(wait)
        axes.plot(seconds, share, color=colour, linewidth=1.2)
        said = f"{name}: longest wait {words.duration(int(wait[-1]))}"
        place = {"transform": axes.transAxes, "fontsize": 8, "color": colour}
        axes.text(0.04, 0.21 - 0.08 * line, said, **place)
    ticks = {60: "1 min", 3600: "1 h", 86400: "1 d"}
    axes.set(title="share of jobs that wait longer than ...", xscale="log", yscale="log")
    axes.set_xticks(list(ticks), list(ticks.values()))
    axes.set_yticks([1, 0.1, 0.01, 0.001], ["all", "10 %", "1 %", "0.1 %"])
    axes.minorticks_off()
    axes.set_xlim(30, 4e5)


def photograph(page: Path, picture: Path) -> None:
    """Take a picture of the top of a page, as a light browser shows it."""
    options = webdriver.ChromeOptions()
    for word in ("headless=new", "no-sandbox", "hide-scrollbars"):
        options.add_argument(f"--{word}")
    browser = webdriver.Chrome(options, Service(shutil.which("chromedriver")))
    try:
        browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1.5, "mobile": False},
        )
        browser.get(page.resolve().as_uri())
        browser.save_screenshot(str(picture))
    finally:
        browser.quit()
    with Image.open(picture) as image:
        image.convert("RGB").quantize(96).save(picture, optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
