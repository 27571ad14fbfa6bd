"""The page of a live queue: what it shows, what it refuses, and how it looks in a browser."""

import contextlib
import itertools
import json
import socket
import stat
import threading
import urllib.error
import urllib.request

import pytest
from fake_slurm import FakeSlurm

from cpsched import systems
from cpsched.errors import ConfigError
from slurm_adapter.live import serve_command
from slurm_adapter.live.page.page import SCHEMA, Watch
from slurm_adapter.live.page.server import server
from slurm_adapter.live.queue import LiveQueue

pytestmark = pytest.mark.slow

#: A user's name that would be more than a name.
HOSTILE = "<img src=x onerror=document.title='taken'>"


@pytest.fixture
def slurm():
    """Jobs on the first two nodes of Eurora, more than they hold."""
    slurm = FakeSlurm(systems.load("eurora"))
    for number in range(9):
        node = f"node{number % 2 + 1:03}"
        asked = {"held": False, "required": (node,), "cpus": 16, "mem": 1024}
        user = HOSTILE if number == 5 else f"user{number}"
        slurm.submit(seconds=5000, user=user, partition="parallel", **asked)
    slurm.advance(100)
    return slurm


@pytest.fixture
def watch(slurm):
    """What looks at it."""
    found = Watch(backend=slurm, system=slurm.system, dispatcher="easy")
    found.look()
    return found


@pytest.fixture
def address(watch):
    """The page, served."""
    with server(watch, 0) as page:
        threading.Thread(target=page.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{page.server_address[1]}"
        page.shutdown()


def ask(address, **more):
    """Return status, headers and content of an answer."""
    request = urllib.request.Request(address, **more)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


def test_it_tells_what_the_commands_tell(slurm, watch, address):
    """Forecasts are those of ``cpsched slurm when``."""
    status, headers, content = ask(f"{address}/queue.json")
    seen = json.loads(content)
    assert (status, seen["schema"], seen["error"]) == (200, SCHEMA, None)
    assert seen == json.loads(json.dumps(watch.document))
    answer = LiveQueue(slurm.snapshot(), slurm.system, "easy").when()
    assert seen["bounds"] is True
    told = {one.job: one.planned + answer.epoch for one in answer.jobs}
    assert {job["job"]: job["planned"] for job in seen["waiting"]} == told
    assert {job["p10"] for job in seen["waiting"]} == {None}
    assert (seen["cores_in_use"], seen["cores"]) == (32, 1024)
    assert "default-src 'none'" in headers["Content-Security-Policy"]


def test_it_is_read_only_and_answers_under_its_own_name(address):
    """No other method, no other host, nothing else to find."""
    assert ask(f"{address}/queue.json", data=b"{}")[0] == 501
    assert ask(f"{address}/", headers={"Host": "evil.example"})[0] == 400
    assert ask(f"{address}/../page.py")[0] == 404
    assert ask(f"{address}/page.css")[1]["Content-Type"].startswith("text/css")


def test_what_is_held_for_an_engine_is_promised_nothing(slurm):
    """Without its mark; with it, the same job is forecast."""
    key = slurm.submit(cpus=16, mem=1024)
    for mark in ("", "cpsched"):
        watch = Watch(backend=slurm, system=slurm.system, dispatcher="easy", mark=mark)
        watch.look()
        (job,) = (one for one in watch.document["waiting"] if one["job"] == key)
        assert (job["for_engine"], job["planned"] is None) == (not mark, not mark)


def test_what_goes_wrong_is_shown_beside_what_was_seen(slurm, watch):
    """Slurm does not answer; the queue of before is still there."""
    before = watch.document
    slurm.reachable = False
    watch.look()
    assert "does not answer" in watch.document["error"]
    assert watch.document["waiting"] == before["waiting"]
    slurm.reachable = True
    watch.look()
    assert watch.document["error"] is None


def test_a_twins_last_statement_is_shown(slurm, tmp_path):
    """Of two weeks, the later one."""
    (tmp_path / "weeks").mkdir()
    (tmp_path / "weeks/2026-W46.txt").write_text("nothing to gain")
    watch = Watch(backend=slurm, system=slurm.system, dispatcher="fifo", twin=tmp_path)
    watch.look()
    assert watch.document["statement"] == "nothing to gain"


def test_an_empty_queue(slurm):
    """Nobody waits: there is nothing to forecast."""
    empty = FakeSlurm(slurm.system)
    watch = Watch(backend=empty, system=empty.system, dispatcher="fifo")
    watch.look()
    assert (watch.document["waiting"], watch.document["error"]) == ([], None)


def test_a_port_that_is_taken_is_named(watch, address):
    """In one line."""
    with pytest.raises(ConfigError, match="cannot listen on 127.0.0.1"):
        server(watch, int(address.rpartition(":")[2]))


def test_a_token_is_asked_for(watch):
    """In the address at first, then in a cookie; not a part of it, and no other."""
    with server(watch, 0, token="s3cret") as page:
        threading.Thread(target=page.serve_forever, daemon=True).start()
        at = f"http://127.0.0.1:{page.server_address[1]}"
        for path in (
            "/",
            "/queue.json",
            "/page.js",
            "/?token=",
            "/?token=s3cre",
            "/?token=s3crett",
        ):
            assert ask(f"{at}{path}")[0] == 403
        status, headers, _ = ask(f"{at}/?token=s3cret")
        assert (status, "HttpOnly" in headers["Set-Cookie"]) == (200, True)
        cookie = {"Cookie": headers["Set-Cookie"].partition(";")[0]}
        assert ask(f"{at}/queue.json", headers=cookie)[0] == 200
        assert ask(f"{at}/queue.json", headers={"Cookie": "cpsched-token=x"})[0] == 403
        page.shutdown()


def test_a_socket_is_its_owners_alone(watch, tmp_path):
    """It goes with the server; what a dead one left is replaced, a living one is not."""
    path = tmp_path / "page"
    for _ in range(2):
        with server(watch, path=path) as page:
            threading.Thread(target=page.serve_forever, daemon=True).start()
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            with socket.socket(socket.AF_UNIX) as asking:
                asking.connect(str(path))
                asking.sendall(b"GET /queue.json HTTP/1.0\r\nHost: localhost\r\n\r\n")
                answer = b"".join(iter(lambda: asking.recv(65536), b""))
            assert b"200 OK" in answer
            assert SCHEMA.encode() in answer
            with pytest.raises(ConfigError, match="--socket: cannot listen on .*in use"):
                server(watch, path=path)
            page.shutdown()
        assert not path.exists()
        with socket.socket(socket.AF_UNIX) as left:
            left.bind(str(path))
    path.unlink()
    path.write_text("mine")
    with pytest.raises(ConfigError, match="cannot listen"):
        server(watch, path=path)
    assert path.read_text() == "mine"


@pytest.mark.parametrize(
    ("private", "options", "warned"),
    [("jobs,usage", (), True), ("jobs", ("--token",), False), ("", (), False)],
)
def test_private_data_on_an_open_port_is_warned_of(
    slurm, cpsched, monkeypatch, private, options, warned
):
    """The command ends at once, because it has been stopped."""
    monkeypatch.setattr(FakeSlurm, "private_data", lambda _: private)
    monkeypatch.setattr(serve_command, "backend_of", lambda: slurm)
    monkeypatch.setattr(serve_command, "machine_of", lambda name, backend: backend.system)
    stopped = threading.Event()
    stopped.set()
    monkeypatch.setattr(
        serve_command, "stopped_by_signals", lambda: contextlib.nullcontext(stopped)
    )
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    code, out, err = cpsched("slurm", "serve", "-d", "easy", "--port", port, *options)
    assert code == 0
    assert ("PrivateData=jobs,usage" in err) == warned
    assert ("?token=" in out) == bool(options)


@pytest.mark.parametrize("width", [390, 1024, 1280, 1920])
def test_it_is_whole_in_a_browser(chromium, address, width):
    """At four widths: no text runs out of the page, names stay text, nothing is complained of."""
    from selenium.webdriver.support.ui import WebDriverWait

    chromium.set_window_size(width, 1000)
    chromium.get_log("browser")
    chromium.get(address)
    ready = "return document.body.dataset.ready"
    WebDriverWait(chromium, 30).until(lambda one: one.execute_script(ready) == "yes")
    assert chromium.title == "Queue - cpsched"
    rows = chromium.execute_script("return document.querySelectorAll('#jobs tr').length")
    assert rows == 7
    lanes = chromium.execute_script("return document.querySelectorAll('#chart .row').length")
    assert lanes == 10
    assert HOSTILE in chromium.execute_script("return document.getElementById('jobs').textContent")
    assert chromium.execute_script("return document.images.length") == 0
    ticks = chromium.execute_script(
        "return [...document.querySelectorAll('.tick')].filter(one => one.offsetWidth)"
        ".map(one => one.getBoundingClientRect()).map(box => [box.left, box.right])"
    )
    assert all(one[1] < other[0] for one, other in itertools.pairwise(ticks))
    wide = chromium.execute_script(
        "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )
    assert wide <= 0
    cut = chromium.execute_script(
        "return [...document.querySelectorAll('.scroll, td')].filter(one =>"
        " one.scrollWidth > one.clientWidth + 1 && !one.classList.contains('name')).length"
    )
    assert cut == 0
    spans = chromium.execute_script(
        "return [45, 1200, 5040, 86340, 180000, null].map(seconds => span(seconds))"
    )
    assert spans == ["45 s", "20 min", "1 h 24 min", "23 h 59 min", "2 d 2 h", "later"]
    assert not [line for line in chromium.get_log("browser") if "favicon" not in line["message"]]
