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
import urllib.error
import urllib.request
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
    """Two jobs fill two nodes of Eurora, seven wait for these; one is held."""
    slurm = FakeSlurm(systems.load("eurora"))
    for number in range(9):
        asked = {"required": (f"node{number % 2 + 1:03}",), "cpus": 16, "mem": 1024}
        user = ME if number == 4 else HOSTILE if number == 5 else f"user{number}"
        slurm.submit(seconds=5000, held=False, user=user, partition="parallel", **asked)
    slurm.submit(user="ann", partition="debug", admin_comment="cpsched:aside refused 5 times")
    return slurm


def watching(slurm, engine=None, **more):
    """Return what looks at it."""
    return Watch(
        backend=slurm, system=slurm.system, dispatcher="easy", metrics=metrics_of(engine), **more
    )


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


def told(metrics):
    """Return all samples by name and labels, read by Prometheus' own parser."""
    text, kind = metrics.text(OPENMETRICS)
    assert kind.startswith("application/openmetrics-text")
    families = text_string_to_metric_families(text.decode())
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in families
        for sample in family.samples
    }


def get(address, **headers):
    request = urllib.request.Request(address, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def test_the_queue_its_waits_and_forecasts_are_told(slurm, watch):
    """Numbers are those of the page; a wait is counted once."""
    seen = told(watch.metrics)
    assert seen["cpsched_jobs", "parallel", "running"] == 2
    assert seen["cpsched_jobs", "parallel", "waiting"] == 7
    assert seen["cpsched_jobs", "debug", "held"] == 1
    assert seen["cpsched_jobs_set_aside",] == 1
    assert seen["cpsched_cores_in_use",] == watch.document["cores_in_use"] == 32
    assert seen["cpsched_forecast_jobs", "parallel"] == 7
    ahead = sorted(
        job["planned"] - slurm.now for job in watch.document["waiting"] if job["forecast"]
    )
    name = "cpsched_forecast_start_seconds"
    assert seen[name, "0.5", "bound", "parallel"] == ahead[3]
    assert seen[name, "0.9", "bound", "parallel"] == ahead[6]
    watch.look()
    seen = told(watch.metrics)
    assert seen["cpsched_job_wait_seconds_count", "parallel"] == 2
    assert seen["cpsched_job_wait_seconds_sum", "parallel"] == 120
    assert seen["cpsched_job_wait_seconds_bucket", "10.0", "parallel"] == 0
    assert seen["cpsched_job_wait_seconds_bucket", "60.0", "parallel"] == 2


def test_a_failed_look_leaves_nothing_that_looks_current(slurm, watch):
    slurm.reachable = False
    watch.look()
    seen = told(watch.metrics)
    assert (seen["cpsched_up",], seen["cpsched_looks_failed_total",]) == (0, 1)
    assert not any(name == "cpsched_jobs" for name, *_ in seen)
    slurm.reachable = True
    watch.look()
    assert told(watch.metrics)["cpsched_up",] == 1


def test_past_forecasts_of_a_twin_are_scored(slurm, tmp_path):
    """Ten forecasts of 100 to 200 s, of which eight jobs started after 150 s, two after 1,000 s."""
    record = Record(tmp_path)
    for _ in range(10):
        slurm.submit(partition="parallel", held=False)
    record.see(slurm.snapshot(), slurm)
    jobs = list(slurm.snapshot().jobs.values())[-10:]
    scenarios = np.repeat(np.linspace(100, 200, 21, dtype=np.int64)[:, None], 10, axis=1)
    raw = Starts(0, np.arange(10), scenarios, scenarios[-1])
    JudgedForecasts(record).add("easy", jobs, raw, slurm.now)
    with record.database() as database:
        told_ = json.dumps((scenarios[:, 0] + slurm.now).tolist())
        database.execute("UPDATE forecasts SET told = ?", (told_,))
        for at, job in enumerate(jobs):
            start = slurm.now + (150 if at < 8 else 1000)
            database.execute("UPDATE forecasts SET start = ? WHERE job = ?", (start, job.key))
    watch = watching(slurm, twin=tmp_path)
    watch.look()
    seen = told(watch.metrics)
    assert seen["cpsched_past_forecasts",] == 10
    assert seen["cpsched_past_forecasts_inside_ratio",] == 0.8
    assert seen["cpsched_past_forecast_error_seconds",] == 0
    assert seen["cpsched_twin_timestamp_seconds",] == slurm.now


def test_the_health_of_an_engine_is_that_of_the_health_command(slurm, tmp_path):
    """Before it ran, while it lives, and after it ended."""
    engine = tmp_path / "engine"
    engine.mkdir()
    watch = watching(slurm, engine, own=Record(tmp_path / "own"))
    watch.look()
    assert told(watch.metrics)["cpsched_engine_well",] == 0
    Leases(slurm, ["parallel"], engine, 300).hold()
    audit = Audit(engine, print)
    audit.beat(Counts(ordered=7, ran=5, refused=2, cycles=9).numbers())
    Paused(users=frozenset(("ann",))).write(engine)
    watch.look()
    seen = told(watch.metrics)
    assert seen["cpsched_engine_well",] == 1
    assert seen["cpsched_engine_orders_total",] == 7
    assert seen["cpsched_engine_orders_refused_total",] == 2
    assert seen["cpsched_engine_cycles_total",] == 9
    assert seen["cpsched_engine_lease_expiry_timestamp_seconds", "parallel"] > time.time() + 200
    assert (seen["cpsched_paused_users",], seen["cpsched_paused_partitions",]) == (1, 0)
    audit.end("stopped")
    watch.look()
    assert told(watch.metrics)["cpsched_engine_well",] == 0


def test_metrics_are_behind_the_token_and_name_nobody(watch, monkeypatch):
    with served(watch, 0, token="s3cret") as (_, port):
        at = f"http://127.0.0.1:{port}/metrics"
        assert get(at)[0] == get(at, Authorization="Bearer other")[0] == 403
        status, text = get(at, Authorization="Bearer s3cret", Accept=OPENMETRICS)
        assert status == 200
        assert text.endswith(b"# EOF\n")
        assert b"user1" not in text
        assert HOSTILE.encode() not in text
        assert get(at, Authorization="Bearer s3cret", Host="evil.example")[0] == 400
        monkeypatch.setattr(page_module, "find_spec", lambda _: None)
        watch.metrics = metrics_of(None)
        assert get(at, Authorization="Bearer s3cret")[0] == 501


def test_a_token_is_kept_in_a_file_that_others_cannot_read(tmp_path):
    path = tmp_path / "token"
    token = _token_in(path)
    assert (_token_in(path), path.stat().st_mode & 0o777) == (token, 0o600)
    path.chmod(0o644)
    with pytest.raises(ConfigError, match="every account can read it"):
        _token_in(path)
    path.chmod(0o600)
    path.write_text("short\n")
    with pytest.raises(ConfigError, match="is no token"):
        _token_in(path)


@contextlib.contextmanager
def served(watch, *where, **how):
    with server(watch, *where, **how) as page:
        threading.Thread(target=page.serve_forever, daemon=True).start()
        yield page.server_address
        page.shutdown()


def widget(page):
    """Render the widget as Open OnDemand does."""
    command = ["ruby", "-rerb", "-e", "puts ERB.new(ARGF.read, trim_mode: '-').result"]
    file = FILES / "_cpsched_jobs.html.erb"
    done = subprocess.run(
        [*command, file],
        env={**os.environ, "CPSCHED_PAGE": str(page)},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize("peer", [None, "ann", HOSTILE])
def test_on_a_shared_socket_everybody_sees_their_own_jobs(
    slurm, watch, tmp_path, monkeypatch, peer
):
    """None: root, and the account of the page."""
    monkeypatch.setattr(server_module, "_peer", lambda _: peer)
    path = tmp_path / "jobs.sock"
    with served(watch, path=path, shared=True):
        assert path.stat().st_mode & 0o777 == 0o666
        answer = over(path, "/queue.json")
        users = {job["user"] for job in answer["waiting"] + answer["running"]}
        if peer is None:
            assert len(users) == 10
            assert over(path, "/job.json?job=5")["why"].startswith("job 5 does not start")
        else:
            assert users == {peer}
            assert over(path, "/job.json?job=5") is None
        assert over(path, "/metrics") is None
        assert over(path, "/job.json?job=nothing") is None


def over(path, what):
    """Return what is answered on a socket, None if it is an error."""
    connection = http.client.HTTPConnection("localhost")
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.connect(str(path))
    connection.request("GET", what)
    answer = connection.getresponse()
    return json.loads(answer.read()) if answer.status == 200 else None


@pytest.mark.skipif(shutil.which("ruby") is None, reason="Ruby is not installed")
def test_the_widget_says_when_and_why(slurm, watch, tmp_path):
    """For the account that it runs as; nothing but text comes from Slurm."""
    slurm.change("5", reason=HOSTILE)
    watch.explains = False
    watch.look()
    path = tmp_path / "jobs.sock"
    with served(watch, path=path, shared=True):
        shown = widget(path)
    rows = re.findall(r"<td>(.*?)</td>", shown)
    assert rows[:2] == ["5", "parallel"]
    assert rows[3].startswith("within ")
    assert len(rows) == 5
    assert HOSTILE not in shown
    assert "&lt;img src=x" in rows[4]
    assert "cpsched does not answer" in widget(tmp_path / "nobody.sock")


def test_the_dashboard_uses_metrics_that_exist(slurm, watch, tmp_path):
    """Every name in an expression is exported; panels do not overlap."""
    names = {name for name, *_ in told(watch.metrics)}
    engine = tmp_path / "engine"
    engine.mkdir()
    Leases(slurm, ["parallel"], engine, 300).hold()
    Audit(engine, print).beat(Counts().numbers())
    watch.metrics = metrics_of(engine)
    watch.look()
    names |= {name for name, *_ in told(watch.metrics)}
    # Only with a twin whose forecasts are scored: tested above.
    names |= {"cpsched_past_forecasts_inside_ratio", "cpsched_past_forecast_error_seconds"}
    board = json.loads((FILES / "cpsched-dashboard.json").read_text())
    used = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    used += [one["definition"] for one in board["templating"]["list"] if "definition" in one]
    found = {name for text in used for name in re.findall(r"cpsched_\w+", text)}
    assert len(found) > 15
    assert found <= names
    cells = [
        (x, y)
        for place in (panel["gridPos"] for panel in board["panels"])
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(set(cells)) == len(cells)
    assert max(x for x, _ in cells) < 24
