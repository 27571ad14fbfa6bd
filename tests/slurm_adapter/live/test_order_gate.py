"""The gate in front of ``scontrol``: it passes on what an engine says, and nothing else."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from slurm_adapter.live import order_gate
from slurm_adapter.live.order import NotAllowedError, Order
from slurm_adapter.live.scontrol import Scontrol
from slurm_adapter.live.snapshot import Lease

FAR = int(time.time()) + 20 * 365 * 86400
WHEN = ("ReservationName=cpsched.trial", f"StartTime=uts{FAR}", "Duration=77")
CREATE = ("create", "reservation", *WHEN, "Users=bot", "PartitionName=trial", "NodeCnt=1",
          "Flags=MAINT,IGNORE_JOBS,OVERLAP")  # fmt: skip
SUDOERS = Path(__file__).parents[3] / "docs/guides/systemd/cpsched-slurm.sudoers"


def gate(tmp_path, scontrol="/bin/cat", conf=""):
    """Return the installed gate, with the constants that root writes into it."""
    text = Path(order_gate.__file__).read_text()
    own = f'SCONTROL, SLURM_CONF = "{scontrol}", "{conf}"'
    path = tmp_path / "cpsched-slurm-order"
    path.write_text(text.replace('SCONTROL, SLURM_CONF = "/usr/bin/scontrol", ""', own))
    assert own in path.read_text()
    return (sys.executable, "-I", str(path))


@pytest.mark.parametrize(
    "line",
    ["", "shutdown", "show config", "release", "release 7,8", "release 7 8", "release 7;8",
     "hold 7", "requeue 7", "update JobId=7", "update JobId=7 Priority=1",
     "update JobId=7 ReqNodeList=n1 NumNodes=1-1 Priority=9", "update NodeName=n1 State=DOWN",
     "update JobId=7 NumNodes=1-1 ReqNodeList=n1", "update JobId=7 ReqNodeList=n[1-9] NumNodes=1-1",
     "update JobId=7 ReqNodeList=n1,,n2 NumNodes=1-1", "update JobId=7 ReqNodeList= NumNodes=1",
     "update  JobId=7 ReqNodeList=n1 NumNodes=1-1", "update jobid=7 ReqNodeList=n1 NumNodes=1-1",
     "update JobId=name=x ReqNodeList=n1 NumNodes=1-1", "update JobId=7 Comment=x",
     "release 7\tshutdown", "release 7\rshutdown", "release 7\u2028", "release ALL", "quit now",
     "release 7\n\nshutdown", "!sh", "delete ReservationName=cpsched.trial"],
)  # fmt: skip
def test_hostile_lines_are_refused(line):
    """Whatever stands beside them."""
    words = [part.split(" ") for part in line.split("\n")]
    assert not all(order_gate.is_order(one, order_gate._LINES) for one in words)


@pytest.mark.parametrize(
    "words",
    [("shutdown",), ("update", "NodeName=n1", "State=DOWN"), ("update", "JobId=7", "Command=/x"),
     ("update", "JobId=7", "Comment=a", "Priority=1"), ("update", "JobId=7", "Comment=a\nb"),
     ("update", "JobId=7\nPriority=1", "Comment=a"), ("update", "JobId=7", "Comment=a\x1b[2J"),
     ("update", "JobId=7", "Comment=" + "a" * 2000), ("update", "JobId=7", "AdminComment=a b"),
     ("update", "PartitionName=trial", "State=DOWN"), ("delete", "ReservationName=lesson"),
     ("update", WHEN[0], f"StartTime=uts{int(time.time()) + 60}", WHEN[2]),
     ("update", WHEN[0], "StartTime=now", WHEN[2]), ("update", *WHEN, "Nodes=ALL"),
     (*CREATE[:-1], "Flags=MAINT"), (*CREATE[:-2], "NodeCnt=9", CREATE[-1]),
     tuple(word.replace("PartitionName=trial", "PartitionName=other") for word in CREATE),
     ("release", "7"), ("-M", "other", "ping"), ("--help",), ("",)],
)  # fmt: skip
def test_hostile_arguments_are_refused(words):
    assert not order_gate.is_order(list(words), order_gate._ARGUMENTS)


class Heard(Scontrol):
    """Orders, as they are given, and not only what they are meant to be."""

    def __init__(self):
        super().__init__()
        self.heard = []
        self.rows = []

    def _records(self, *_, **__):
        return self.rows

    def _process(self, command, *, given=""):
        self.heard.append((list(command[1:]), given))
        return subprocess.CompletedProcess(command, 0, "", "")


def test_every_order_of_an_engine_and_a_watchdog_is_allowed():
    backend, order = Heard(), Order("7", ("n1", "n-2.a"), (), 2, 4, 0)
    lease = Lease(int(time.time()) + 300, 77)
    backend.begin([order])
    backend.take_back([order, Order("8_1", ("n1",), ("n1",), 1, 1, 0)], {"7"})
    backend.leave([order], ["7", "8_1"])
    for grant in (backend.begin_lease, backend.renew_lease):
        grant("trial", lease)
    backend.end_lease("trial")
    backend.comment("7", "cpsched:hold my own: a=b, 'c'")
    backend.comment("7", "cpsched:aside runs on n1, but should run on n2", admin=True)
    backend.comment("7", "cpsched", admin=True)
    assert len(backend.heard) == 11
    for words, given in backend.heard:
        lines = [line.split(" ") for line in given.splitlines()]
        assert bool(words) != bool(given)
        assert all(order_gate.is_order(line, order_gate._LINES) for line in lines)
        assert not words or order_gate.is_order(words, order_gate._ARGUMENTS)


def test_a_hold_newer_than_the_decision_is_not_overridden():
    """By an operator, or by an owner whose hold is a comment; the job has its own request again."""
    backend = Heard()
    held = {"7": ("JobHeldAdmin", ""), "8": ("JobHeldUser", "own:hold x"), "9": ("JobHeldUser", "")}
    names = ("JobArrayID", "Reason", "Comment")
    backend.rows = [dict(zip(names, (key, *told), strict=True)) for key, told in held.items()]
    orders = [Order(key, ("n1",), (), 1, 2, 0) for key in held]
    assert backend.begin(orders) == dict.fromkeys("78", "it has just been held")
    said = "".join(given for _, given in backend.heard)
    assert "release 9\n" in said
    assert "release 7" not in said
    assert "release 8" not in said
    assert said.count("ReqNodeList= NumNodes=1-2") == 2


def test_a_refused_job_among_many_is_found_in_few_orders(monkeypatch):
    """Each order is a process; 50 of them, one by one, would take longer than a start may."""
    backend, said = Heard(), []
    monkeypatch.setattr(
        backend, "_order", lambda text: said.append(text) or "no" * ("release 33" in text)
    )
    assert backend.leave([], [str(job) for job in range(10, 60)]) == {"33": "no"}
    assert len(said) < 15


def test_the_gate_passes_all_on_or_nothing(tmp_path, monkeypatch):
    """Without the environment; what it does not pass on is an error of one line."""
    monkeypatch.setenv("SLURM_CONF", "/tmp/hostile")
    command = gate(tmp_path)

    def passed(text):
        return subprocess.run(command, input=text, capture_output=True, text=True, check=False)

    assert passed("release 7\nquit\n").stdout == "release 7\nquit\n"
    done = passed("release 7\nshutdown\nquit\n")
    assert (done.returncode, done.stdout) == (order_gate.REFUSED, "")
    assert done.stderr == "not an order of cpsched: ['shutdown']\n"
    with pytest.raises(NotAllowedError, match=r"does not pass an order on: .*Comment=a\\nb"):
        Scontrol(through=command).comment("7", "a\nb")
    shown = subprocess.run(
        [*gate(tmp_path, "/usr/bin/env", "/etc/own.conf")], input="quit", stdout=subprocess.PIPE,
        text=True, check=True,
    ).stdout  # fmt: skip
    assert sorted(line.split("=")[0] for line in shown.splitlines()) == [
        *("LC_ALL", "PATH", "SLURM_CONF")
    ]
    assert "SLURM_CONF=/etc/own.conf" in shown


def test_ctrl_c_does_not_reach_the_commands_of_slurm():
    """Else one would fail under an engine, or a twin, that is only told to end."""
    ask = (sys.executable, "-c", "import os; print(os.getpgrp())")
    assert int(Scontrol()._run(*ask)) != os.getpgrp()


@pytest.mark.skipif(shutil.which("visudo") is None, reason="there is no sudo")
def test_visudo_takes_the_rule():
    subprocess.run(["visudo", "-cf", str(SUDOERS)], check=True, capture_output=True)


@pytest.mark.slurm_live
@pytest.mark.slow
def test_a_job_is_bound_released_and_leased_through_the_gate(private_slurm, tmp_path):
    scontrol = shutil.which("scontrol")
    backend = Scontrol(private_slurm.environment, gate(tmp_path, scontrol, str(private_slurm.conf)))
    fixed = ("sbatch", "--parsable", "-o", "/dev/null", "-p", "R", "--hold", "-N1")
    key = private_slurm.run(*fixed, "--wrap", "exec sleep 60").strip()
    node = private_slurm.nodes[-1]
    assert backend.begin([Order(key, (node,), (), 1, 1, time.time())]) == {}
    end = time.monotonic() + 20
    while (job := backend.snapshot().jobs[key]).waits and time.monotonic() < end:
        time.sleep(0.1)
    assert job.nodes == (node,)
    assert backend.comment(key, "cpsched:aside it runs", admin=True) == ""
    lease = Lease(int(time.time()) + 60, 77)
    assert backend.begin_lease("R", lease) == backend.renew_lease("R", lease) == ""
    assert backend.leases() == {"R": lease}
    assert backend.end_lease("R") == ""
    private_slurm.run("scancel", key)
