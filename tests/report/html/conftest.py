"""Finished runs of jobs with hostile names, the report of them, and a browser to look at it."""

import numpy as np
import pytest
from tiny import jobs, machine, run

from cpsched.study import save_run

#: Names that are scripts if anybody forgets that they are text.
HOSTILE_USER = "<script>alert(1)</script>"
HOSTILE_NAME = "</script><script>document.title='owned'</script>"
HOSTILE_JOB = "$x^2$ <img src=x onerror=alert(3)>"


def _workload():
    rows = [(60 * job, 1 + job % 3, 600 + 37 * (job % 7), 1800) for job in range(40)]
    return jobs(
        *rows,
        user=[HOSTILE_USER if job % 2 else "ann" for job in range(40)],
        name=[HOSTILE_NAME if job % 2 else None for job in range(40)],
        job_id=[HOSTILE_JOB + str(job) for job in range(40)],
    )


@pytest.fixture
def browser(chromium):
    """The browser, whose size and media are put back."""
    yield chromium
    chromium.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})


@pytest.fixture(scope="session")
def runs_folder(tmp_path_factory):
    """A folder of two runs, as simulate makes it, on six nodes of four cores."""
    folder = tmp_path_factory.mktemp("hostile")
    system = machine((4,), (4,), (4,), (4,), (4,), (4,))
    for dispatcher in ("fifo", "easy"):
        result = run(_workload(), system, dispatcher)
        log = "a log; rm -rf '*' \x1b\udcff.swf"
        arguments = {"workload": log, "source": {"path": log}, "machine": "tiny", "first": 40}
        save_run(result, folder / dispatcher, arguments=arguments)
    return folder


@pytest.fixture(scope="session")
def page(runs_folder, tmp_path_factory):
    """The report of them."""
    pytest.importorskip("bokeh")
    pytest.importorskip("matplotlib")
    from cpsched.report.html.make import make_report

    return make_report(runs_folder, out=tmp_path_factory.mktemp("out")).page


#: Ten runs: names as long as people make them, and two that know something of the runtimes.
TEN = (
    "easy", "fifo", "easy:backfill=sjf", "greedy:order=slowdown", "easy:allocator=best-fit",
    "greedy:order=slowdown,allocator=pack", "fifo:allocator=pack",
    "easy:backfill=sjf,allocator=pack", "conservative", "conservative:allocator=best-fit",
)  # fmt: skip


@pytest.fixture(scope="session")
def ten_folder(tmp_path_factory):
    """A folder of ten runs of a thousand jobs."""
    rng = np.random.default_rng(1)
    rows = [
        (int(at), int(cores), int(runtime), int(runtime * 2))
        for at, cores, runtime in zip(
            np.sort(rng.integers(0, 4 * 86400, 1000)), 2 ** rng.integers(0, 8, 1000),
            rng.lognormal(7.5, 1.6, 1000).clip(1, 80_000), strict=True,
        )
    ]  # fmt: skip
    names = [f"user{user:03d}" for user in rng.integers(0, 60, 1000)]
    queues = [
        ("debug", "parallel", "long")[min(int(requested // 3600), 2)] for _, _, requested, _ in rows
    ]
    log = jobs(*rows, user=names, queue=queues, epoch=1_400_000_000)
    folder = tmp_path_factory.mktemp("ten")
    for at, dispatcher in enumerate(TEN):
        result = run(log, machine(*[(16,)] * 32), dispatcher)
        save_run(
            result, folder / f"{at} run", arguments={"workload": "site log", "machine": "tiny"}
        )
    return folder


@pytest.fixture(scope="session")
def ten_runs(ten_folder, tmp_path_factory):
    """The report of them, with all that a page has."""
    pytest.importorskip("bokeh")
    pytest.importorskip("matplotlib")
    from cpsched.report.html.make import make_report

    return make_report(ten_folder, out=tmp_path_factory.mktemp("out"), baseline="easy").page
