"""What Prometheus, Grafana and Open OnDemand are told of a live queue."""

import contextlib
import http.client
import json
import os
import pwd
import re
import shutil
import socket
import subprocess
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from fake_slurm import FakeSlurm
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from cpsched import systems
from cpsched.api.answers import Starts
from cpsched.errors import ConfigError
from slurm_adapter.live.audit import Audit
from slurm_adapter.live.filter import Paused
from slurm_adapter.live.judged import JudgedForecasts
from slurm_adapter.live.lease import Leases
from slurm_adapter.live.orders import Counts
from slurm_adapter.live.page import page as page_module
from slurm_adapter.live.page import server as server_module
from slurm_adapter.live.page.page import Watch, metrics_of
from slurm_adapter.live.page.server import server
from slurm_adapter.live.record import Record
from slurm_adapter.live.serve_command import _token_in

FILES = Path(__file__).parents[3] / "docs/guides/monitoring"
OPENMETRICS = "application/openmetrics-text;version=1.0.0"
HOSTILE = "<img src=x onerror=document.title='taken'>"
ME = pwd.getpwuid(os.geteuid()).pw_name


@pytest.fixture
def slurm():
    slurm = FakeSlurm(systems.load("eurora"))
    for number in range(9):
        asked = {"required": (f"node{number % 2 + 1:03}",), "cpus": 16, "mem": 1024}
        user = ME if number == 4 else HOSTILE if number == 5 else f"user{number}"
        slurm.submit(seconds=5000, held=False, user=user, partition="parallel", **asked)
    slurm.submit(user="ann", partition="debug", admin_comment="cpsched:aside refused 5 times")
    return slurm


def watching(slurm, engine=None, **more):
    metrics = metrics_of(engine)
    return Watch(backend=slurm, system=slurm.system, dispatcher="easy", metrics=metrics, **more)


@pytest.fixture
def watch(slurm, tmp_path):
    """What has looked at it before and after the first two jobs started, 60 s late."""
    found = watching(slurm, own=Record(tmp_path / "own"))
    found.look()
    slurm.now += 59
    slurm.advance(1)
    found.look()
    assert found.document["error"] is None
    return found


@pytest.fixture
def engine(slurm, tmp_path):
    folder = tmp_path / "engine"
    folder.mkdir()
    Leases(slurm, ["parallel"], folder, 300).hold()
    Audit(folder, print).beat(Counts(ordered=7, refused=2, cycles=9).numbers())
    return folder


def told(metrics):
    """Return all samples by name and labels, read by Prometheus' own parser."""
    families = text_string_to_metric_families(metrics.text(OPENMETRICS)[0].decode())
    samples = [sample for family in families for sample in family.samples]
    return {(one.name, *one.labels.values()): one.value for one in samples}


def get(address, what, **headers):
    """Return status and content, from a port or a socket."""
    connection = http.client.HTTPConnection("127.0.0.1", timeout=10)
    if isinstance(address, Path):
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.connect(str(address))
    else:
        connection.port = address
    connection.request("GET", what, headers=headers)
    answer = connection.getresponse()
    return answer.status, answer.read()


@contextlib.contextmanager
def served(watch, *where, **how):
    with server(watch, *where, **how) as page:
        threading.Thread(target=page.serve_forever, daemon=True).start()
        yield page.server_address
        page.shutdown()


def test_the_queue_its_waits_and_forecasts_are_told(slurm, watch):
    """Numbers are those of the page; a wait is counted once; a failed look leaves nothing."""
    seen = told(watch.metrics)
    assert seen["cpsched_jobs", "parallel", "running"] == 2
    assert (
        seen["cpsched_jobs", "parallel", "waiting"]
        == seen["cpsched_forecast_jobs", "parallel"]
        == 7
    )
    assert seen["cpsched_jobs", "debug", "held"] == seen["cpsched_jobs_set_aside",] == 1
    assert seen["cpsched_cores_in_use",] == watch.document["cores_in_use"] == 32
    waiting = [job for job in watch.document["waiting"] if job["forecast"]]
    ahead = sorted(job["planned"] - slurm.now for job in waiting)
    name = "cpsched_forecast_start_seconds"
    assert seen[name, "0.5", "bound", "parallel"] == ahead[3]
    assert seen[name, "0.9", "bound", "parallel"] == ahead[6]
    watch.look()
    seen = told(watch.metrics)
    assert seen["cpsched_job_wait_seconds_sum", "parallel"] == 120
    assert seen["cpsched_job_wait_seconds_bucket", "10.0", "parallel"] == 0
    assert seen["cpsched_job_wait_seconds_bucket", "60.0", "parallel"] == 2
    slurm.reachable = False
    watch.look()
    seen = told(watch.metrics)
    assert (seen["cpsched_up",], seen["cpsched_looks_failed_total",]) == (0, 1)
    assert seen["cpsched_look_timestamp_seconds",] == slurm.now
    assert not any(name == "cpsched_jobs" for name, *_ in seen)


def test_past_forecasts_of_a_twin_are_scored(slurm, tmp_path):
    """Ten forecasts of 100 to 200 s, of which eight jobs started after 150 s, two after 1,000 s."""
    record = Record(tmp_path)
    record.see(slurm.snapshot(), slurm)
    jobs = list(slurm.snapshot().jobs.values())
    seconds = np.linspace(100, 200, 21, dtype=np.int64)
    raw = Starts(0, np.arange(10), np.repeat(seconds[:, None], 10, axis=1), seconds[:10])
    JudgedForecasts(record).add("easy", jobs, raw, slurm.now)
    with record.database() as database:
        database.execute(
            "UPDATE forecasts SET told = ?", (json.dumps((seconds + slurm.now).tolist()),)
        )
        for at, job in enumerate(jobs):
            start = slurm.now + (150 if at < 8 else 1000)
            database.execute("UPDATE forecasts SET start = ? WHERE job = ?", (start, job.key))
    watch = watching(slurm, twin=tmp_path)
    watch.look()
    seen = told(watch.metrics)
    names = ("past_forecasts", "past_forecasts_inside_ratio", "past_forecast_error_seconds")
    assert [seen[f"cpsched_{name}",] for name in names] == [10, 0.8, 0]
    assert seen["cpsched_twin_timestamp_seconds",] == slurm.now


def test_the_health_of_an_engine_is_that_of_the_health_command(slurm, engine, tmp_path):
    """While it lives, after it ended, and where there is none; counts are its own."""
    Paused(users=frozenset(("ann",))).write(engine)
    watch = watching(slurm, engine, own=Record(tmp_path / "own"))
    watch.look()
    seen = told(watch.metrics)
    totals = [
        seen[f"cpsched_engine_{name}_total",] for name in ("orders", "orders_refused", "cycles")
    ]
    assert (seen["cpsched_engine_well",], totals) == (1, [7, 2, 9])
    assert seen["cpsched_engine_lease_expiry_timestamp_seconds", "parallel"] > time.time() + 200
    assert (seen["cpsched_paused_users",], seen["cpsched_paused_partitions",]) == (1, 0)
    Audit(engine, print).end("stopped")
    for folder in (engine, tmp_path):
        watch.metrics = metrics_of(folder)
        watch.look()
        assert told(watch.metrics)["cpsched_engine_well",] == 0


def test_metrics_are_behind_the_token_and_name_nobody(watch, monkeypatch):
    known = {"Authorization": "Bearer s3cret"}
    with served(watch, 0, token="s3cret") as (_, port):
        assert get(port, "/metrics")[0] == get(port, "/metrics", Authorization="Bearer s")[0] == 403
        status, text = get(port, "/metrics", Accept=OPENMETRICS, **known)
        assert (status, text[-6:]) == (200, b"# EOF\n")
        assert b"user1" not in text
        assert HOSTILE.encode() not in text
        monkeypatch.setattr(page_module, "find_spec", lambda _: None)
        watch.metrics = metrics_of(None)
        assert get(port, "/metrics", **known)[0] == 501


def test_a_token_is_kept_in_a_file_that_others_cannot_read(tmp_path):
    path = tmp_path / "token"
    token = _token_in(path)
    assert (_token_in(path), path.stat().st_mode & 0o777) == (token, 0o600)
    path.chmod(0o644)
    with pytest.raises(ConfigError, match="every account can read it"):
        _token_in(path)


def test_on_a_shared_socket_everybody_sees_their_own_jobs(watch, tmp_path, monkeypatch):
    """None: root, and the account of the page, as which this test runs."""
    path = tmp_path / "jobs.sock"
    with served(watch, path=path, shared=True):
        assert path.stat().st_mode & 0o777 == 0o666
        assert json.loads(get(path, "/job.json?job=5")[1])["why"].startswith("job 5 does not start")
        for peer, number in (("ann", 1), (HOSTILE, 1), ("nobody", 0)):
            monkeypatch.setattr(server_module, "_peer", lambda _, peer=peer: peer)
            seen = json.loads(get(path, "/queue.json")[1])
            assert [job["user"] for job in seen["waiting"] + seen["running"]] == [peer] * number
            assert get(path, "/job.json?job=5")[0] == get(path, "/metrics")[0] == 404


@pytest.mark.skipif(shutil.which("ruby") is None, reason="Ruby is not installed")
def test_the_widget_says_when_and_why(slurm, watch, tmp_path):
    def shown(page):
        render = ["ruby", "-rerb", "-e", "puts ERB.new(ARGF.read, trim_mode: '-').result"]
        command = [*render, FILES / "_cpsched_jobs.html.erb"]
        env = {**os.environ, "CPSCHED_PAGE": str(page)}
        done = subprocess.run(command, env=env, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    slurm.change("5", reason=HOSTILE)
    watch.explains = False
    watch.look()
    path = tmp_path / "jobs.sock"
    with served(watch, path=path, shared=True):
        text = shown(path)
    rows = re.findall(r"<td>(.*?)</td>", text)
    assert (len(rows), rows[:2], rows[3][:7]) == (5, ["5", "parallel"], "within ")
    assert "&lt;img src=x" in rows[4]
    assert HOSTILE not in text
    assert "cpsched does not answer" in shown(path)


def test_the_dashboard_uses_metrics_that_exist(watch, engine):
    names = {name for name, *_ in told(watch.metrics)}
    watch.metrics = metrics_of(engine)
    watch.look()
    names |= {name for name, *_ in told(watch.metrics)}
    # Only with a twin whose forecasts are scored: tested above.
    names |= {"cpsched_past_forecasts_inside_ratio", "cpsched_past_forecast_error_seconds"}
    board = json.loads((FILES / "cpsched-dashboard.json").read_text())
    used = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    used += [one.get("definition", "") for one in board["templating"]["list"]]
    found = {name for text in used for name in re.findall(r"cpsched_\w+", text)}
    assert len(found) > 15
    assert found <= names
