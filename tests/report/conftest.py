"""Finished runs of jobs with hostile names, the report of them, and a browser to look at it."""

from __future__ import annotations

from pathlib import Path

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


@pytest.fixture(scope="session")
def runs_folder(tmp_path_factory) -> Path:
    """A folder of two runs, as simulate makes it, on six nodes of four cores."""
    folder = tmp_path_factory.mktemp("hostile")
    system = machine((4,), (4,), (4,), (4,), (4,), (4,))
    for dispatcher in ("fifo", "easy"):
        done = run(_workload(), system, dispatcher)
        log = "a log; rm -rf '*' \x1b\udcff.swf"
        arguments = {"workload": log, "source": {"path": log}, "machine": "tiny", "first": 40}
        save_run(done, folder / dispatcher, arguments=arguments)
    return folder


@pytest.fixture(scope="session")
def page(runs_folder, tmp_path_factory) -> Path:
    """The report of them."""
    pytest.importorskip("bokeh")
    pytest.importorskip("matplotlib")
    from cpsched.report.make import make_report

    return make_report(runs_folder, out=tmp_path_factory.mktemp("out")).page
