"""Fixtures that every part of the suite shares."""

import shutil
import signal
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from tiny import FOUR_CORES

from cpsched.cli.main import main
from cpsched.slurm.sandbox.private import PrivateSlurm, missing
from cpsched.slurm.sandbox.stream import SITE

# The first example of a test may wait for imports or a busy machine: no test is timed.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

TESTS = Path(__file__).resolve().parent
#: Real traces and golden schedules; beside a developer's checkout, absent elsewhere.
SHARED = TESTS.parents[1] / "shared"


def pytest_configure():
    """Have Ctrl-C at work, also where the suite runs in the background, which ignores it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items):
    """Skip what needs shared traces, or Slurm, where they are absent."""
    lacking = missing()
    for item in items:
        if "slurm_live" in item.keywords:
            # One worker has the cluster: the tests share it.
            item.add_marker(pytest.mark.xdist_group("slurm_live"))
            if lacking is not None:
                item.add_marker(pytest.mark.skip(reason=lacking))
    if SHARED.is_dir():
        return
    skip = pytest.mark.skip(reason="the shared traces are not beside this checkout")
    for item in items:
        if "shared" in item.keywords:
            item.add_marker(skip)


@pytest.fixture
def shared():
    """Folder of the shared traces; use it together with the marker ``shared``."""
    return SHARED


@pytest.fixture
def data():
    """Folder of the suite's own small files."""
    return TESTS / "data"


@pytest.fixture
def four_cores(tmp_path, monkeypatch):
    """A folder with the system ``four.toml``, a pool of four cores, in it, and we are there."""
    (tmp_path / "four.toml").write_text(FOUR_CORES)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def short_path():
    """A folder with a short name: Slurm has sockets in it."""
    with tempfile.TemporaryDirectory(prefix="cps-") as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def shared_slurm(tmp_path_factory):
    """A private Slurm of 16 nodes of Eurora; use it together with the marker ``slurm_live``."""
    with PrivateSlurm(tmp_path_factory.mktemp("slurm") / "slurm", SITE) as slurm:
        yield slurm


@pytest.fixture
def private_slurm(shared_slurm):
    """The private Slurm, without jobs of other tests and with all nodes idle."""
    yield shared_slurm
    shared_slurm.clear()


@pytest.fixture
def cpsched(capsys, monkeypatch):
    """Run a command line; return exit code, stdout and stderr, without lines of what takes long."""
    monkeypatch.setattr("cpsched.cli.progress._LINE", 1e6)

    def run(*arguments):
        with pytest.raises(SystemExit) as stop:
            main(list(arguments))
        out, err = capsys.readouterr()
        return stop.value.code or 0, out, err

    return run


@pytest.fixture(scope="session")
def chromium(tmp_path_factory):
    """A browser without a window, if there is one."""
    webdriver = pytest.importorskip("selenium.webdriver")
    from selenium.webdriver.chrome.service import Service

    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if browser is None or driver is None:
        pytest.skip("needs chromium and chromedriver")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for argument in (
        "headless",
        "no-sandbox",
        "disable-gpu",
        "disable-quic",
        "no-first-run",
        "disable-background-networking",
        "disable-component-update",
        "disable-sync",
        "window-size=1400,1000",
        f"user-data-dir={tmp_path_factory.mktemp('profile')}",
    ):
        options.add_argument(f"--{argument}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    window = webdriver.Chrome(options=options, service=Service(driver))
    yield window
    window.quit()
