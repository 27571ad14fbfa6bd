"""A private Slurm: what it is made of, and that it leaves nothing behind."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cpsched.errors import ConfigError
from cpsched.slurm.sandbox import private
from cpsched.slurm.sandbox.private import PrivateSlurm
from cpsched.slurm.sandbox.stream import SITE

pytestmark = pytest.mark.slow


def test_what_is_not_installed_is_named(monkeypatch, tmp_path):
    """With the line that installs it, and nothing is written."""
    monkeypatch.setattr(private, "_command", lambda name: None if "slurm" in name else name)
    with pytest.raises(ConfigError, match="apt-get install .*slurmctld slurmd$"):
        PrivateSlurm(tmp_path / "slurm", SITE).start()
    assert not (tmp_path / "slurm").exists()


@pytest.mark.slurm_live
def test_nodes_have_what_the_site_says(private_slurm):
    shown = private_slurm.run("sinfo", "-h", "-N", "-p", "R", "-O", "NodeList:|,Gres:|,Memory:|")
    assert shown.splitlines()[0] == "node001|mic:2|15912|"
    assert shown.splitlines()[-1] == "node039|gpu:2|32071|"


def processes_of(conf):
    """Return the command lines of processes that know this slurm.conf."""
    processes = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if str(conf).encode() in (process / "environ").read_bytes():
                processes.append((process / "cmdline").read_text())
        except OSError:
            continue
    return processes


@pytest.mark.slurm_live
@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_sandbox_leaves_nothing_behind(sign):
    """Neither daemons nor jobs nor files."""
    command = [sys.executable, "-m", "cpsched", "slurm", "sandbox", "--count", "3"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as sandbox:
        lines = iter(sandbox.stdout)
        conf = Path(next(line for line in lines if "SLURM_CONF" in line).split("=")[1].strip())
        next(line for line in lines if "job 1 runs" in line)
        assert len([line for line in processes_of(conf) if "slurmd" in line]) >= 16
        sandbox.send_signal(sign)
        sandbox.wait(60)
    assert sandbox.returncode == 0
    assert processes_of(conf) == []
    assert not conf.exists()


@pytest.mark.slurm_live
def test_jobs_of_a_killed_controller_end_with_the_cluster(short_path):
    """Nobody can cancel them, so they are killed."""
    with PrivateSlurm(short_path / "slurm", SITE) as slurm:
        slurm.run("sbatch", "-o", "/dev/null", "--wrap", "exec sleep 300")
        end = time.monotonic() + 60
        while not any("sleep" in line for line in processes_of(slurm.conf)):
            assert time.monotonic() < end
            time.sleep(0.1)
        (controller,) = slurm._daemons["slurmctld"]
        controller.kill()
        controller.wait()
        with pytest.raises(ConfigError, match="slurmctld of this sandbox has ended"):
            slurm.check_identity()
    assert processes_of(slurm.conf) == []


@pytest.mark.slurm_live
def test_a_folder_with_too_long_a_name_is_refused(tmp_path):
    """Jobs would never start: their sockets have no room."""
    folder = tmp_path / ("x" * (100 - len(str(tmp_path))))
    with pytest.raises(ConfigError, match=r"characters too long for Slurm's sockets"):
        PrivateSlurm(folder, SITE).start()
