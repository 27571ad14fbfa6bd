"""One engine for a partition, and none that keeps its jobs when it is gone."""

import json
import threading

import pytest
from fake_slurm import FakeSlurm
from live_slurm import EURORA, steps, submit

from cpsched.errors import DispatchError
from slurm_adapter.live import watch_commands
from slurm_adapter.live.engine import Engine, Limits
from slurm_adapter.live.filter import Filter, Paused
from slurm_adapter.live.lease import LeaseError, Leases
from slurm_adapter.live.mirror import Mirror
from slurm_adapter.live.watchdog import Watchdog

DEBUG = Filter(partitions=frozenset(["debug"]))
#: Longer than the fake Slurm's nodes have cores: it waits.
NEVER = {"nodes_min": 64, "nodes_max": 64, "cpus": 64 * 16, "tasks": 64 * 16, "partition": "debug"}


@pytest.fixture
def stopped():
    event = threading.Event()
    event.set()
    return event


def released(slurm):
    return [order.split()[1] for order in slurm.orders if order.startswith("release")]


def leases(slurm, tmp_path, name, clock):
    folder = tmp_path / name
    folder.mkdir(exist_ok=True)
    return Leases(slurm, ["debug"], folder, 100, lambda: clock[0])


def test_a_partition_has_one_engine_whatever_the_folder(slurm, make, tmp_path):
    """Another partition may have another; the same folder goes on with its own."""
    with make(ours=DEBUG).opened():
        second = make(ours=DEBUG, folder=tmp_path / "other")
        with pytest.raises(LeaseError, match="another engine has its lease"), second.opened():
            pass
        third = Filter(partitions=frozenset(["parallel"]))
        with make(ours=third, folder=tmp_path / "third").opened():
            assert slurm.leased.keys() == {"debug", "parallel"}
    with make(ours=DEBUG).opened():
        pass


def test_an_engine_killed_before_it_has_a_lease_starts_again(slurm, tmp_path, monkeypatch):
    """The file that says whose leases are its own is never there without its content."""

    def killed(_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", killed)
        with pytest.raises(KeyboardInterrupt):
            leases(slurm, tmp_path, "one", [1000])
    leases(slurm, tmp_path, "one", [1000]).hold()
    assert slurm.leased.keys() == {"debug"}


def test_no_lease_is_kept_if_not_all_are_free(slurm, make, tmp_path):
    """The engine that is refused leaves nothing behind."""
    with make(ours=Filter(partitions=frozenset(["parallel"]))).opened():
        with pytest.raises(LeaseError), make(folder=tmp_path / "other").opened():
            pass
        assert slurm.leased.keys() == {"parallel"}


def test_a_lease_is_renewed_and_lost_when_it_has_ended(slurm, tmp_path):
    """To whoever comes first then."""
    clock = [1000]
    first, second = (leases(slurm, tmp_path, name, clock) for name in ("first", "second"))
    first.hold()
    clock[0] += 30
    first.hold()
    assert slurm.leased["debug"].until == 1130
    clock[0] += 99
    with pytest.raises(LeaseError, match="for 1 s"):
        second.hold()
    clock[0] += 1
    second.hold()
    with pytest.raises(LeaseError, match="another engine has its lease for 100 s"):
        first.hold()
    first.end()
    assert slurm.leased.keys() == {"debug"}


def test_a_lease_that_is_not_renewed_lasts_until_its_end(slurm, tmp_path, monkeypatch):
    """Slurm may refuse it for a while; one that has been deleted is taken again."""
    clock = [1000]
    own = leases(slurm, tmp_path, "own", clock)
    own.hold()
    del slurm.leased["debug"]
    clock[0] += 50
    own.hold()
    monkeypatch.setattr(FakeSlurm, "renew_lease", lambda *_: "Requested nodes are busy")
    clock[0] += 99
    own.hold()
    clock[0] += 1
    with pytest.raises(LeaseError, match="grants no lease: Requested nodes are busy"):
        own.hold()


@pytest.mark.parametrize("keep", [False, True])
def test_a_stopped_engine_leaves_its_jobs_to_slurm(keep, slurm, make, stopped):
    """Unless it is to keep them for the next one; what people hold stays held."""
    key, held = submit(slurm), submit(slurm, reason="JobHeldAdmin")
    engine = make(keep=keep)
    with engine.opened():
        engine.run(stopped)
    assert released(slurm) == ([] if keep else [key])
    assert bool(slurm.leased) == keep
    assert slurm.snapshot().jobs[held].held


def test_an_engine_that_fails_leaves_its_jobs_to_slurm(slurm, make, monkeypatch, tmp_path):
    """With their own requests, also those that are bound; the audit log says why."""
    bound, key = submit(slurm), submit(slurm, **NEVER)
    engine = make(keep=True, limits=Limits(patience=60))
    with engine.opened():
        engine.cycle()

        def broken(*_, **__):
            raise DispatchError("broken")

        monkeypatch.setattr(engine.mirror, "decide", broken)
        submit(slurm)
        with pytest.raises(DispatchError):
            engine.run(threading.Event())
    assert key in released(slurm)
    assert slurm.snapshot().jobs[bound].required == ()
    entries = [
        json.loads(line) for line in (tmp_path / "state/audit.jsonl").read_text().splitlines()
    ]
    assert [entry["what"] for entry in entries] == ["start", "ordered", "left", "stop"]
    assert entries[0]["dispatcher"] == "prb"
    assert entries[1]["job"] == bound
    assert entries[-1]["why"] == "broken"


def test_an_engine_that_has_lost_its_partition_leaves_the_jobs_to_the_other(slurm, make, stopped):
    """It releases nothing."""
    submit(slurm, **NEVER)
    engine = make(ours=DEBUG)

    def lost():
        raise LeaseError("partition debug: another engine has its lease")

    with engine.opened():
        engine._leases.hold = lost
        with pytest.raises(LeaseError):
            engine.run(threading.Event())
    assert slurm.orders == []


def test_the_watchdog_leaves_jobs_without_an_engine_to_slurm(slurm, make, tmp_path):
    """After a grace, when the lease has ended; those of other partitions and paused ones stay."""
    said, clock, folder = [], [0.0], tmp_path / "state"
    watchdog = Watchdog(slurm, DEBUG, folder, 60, said.append, lambda: clock[0])
    key, paused = (submit(slurm, user=user, **NEVER) for user in ("ann", "bob"))
    submit(slurm, partition="R")
    with make(ours=DEBUG).opened():
        clock[0] = slurm.leased["debug"].until - 1
        watchdog.look()
        assert said == []
    Paused(users=frozenset(["bob"])).write(folder)
    for seconds in (1, 59, 1, 1):
        clock[0] += seconds
        watchdog.look()
    assert said == ["partition debug has no engine", "1 held job of debug left to Slurm"]
    assert released(slurm) == [key]
    assert slurm.snapshot().jobs[paused].held


def test_the_watchdog_unbinds_what_a_killed_engine_has_bound(slurm, make, monkeypatch, tmp_path):
    """By its journal."""
    key = submit(slurm, partition="debug", time_limit=60)
    engine = make(ours=DEBUG)
    with engine.opened():
        engine.cycle()
    assert slurm.snapshot().jobs[key].required
    slurm.leased.clear()
    Watchdog(slurm, DEBUG, tmp_path / "state", 0, str).look()
    job = slurm.snapshot().jobs[key]
    assert (job.required, job.held) == ((), False)


def test_the_watchdog_looks_again_when_slurm_does_not_answer(slurm):
    """And says so."""
    slurm.reachable = False
    said, stop = [], threading.Event()

    def say(line):
        said.append(line)
        stop.set()

    Watchdog(slurm, DEBUG, None, 0, say).run(stop, 1)
    assert "does not answer" in said[0]


def test_the_health_of_an_engine_is_said(slurm, make, monkeypatch, cpsched, tmp_path, stopped):
    """By an exit code and a line."""
    monkeypatch.setattr(watch_commands, "backend_of", lambda _="": slurm)
    state = tmp_path / "state"

    def health(*words):
        code, out, _ = cpsched("slurm", "health", str(state), *words)
        return code, out.strip()

    assert health() == (1, f"no engine has acted in {state}")
    engine = make()
    with engine.opened():
        steps(engine, slurm, 1)
        assert health() == (0, "the engine is well")
        known = json.loads((state / "health.json").read_text())
        (state / "health.json").write_text(json.dumps(known | {"time": known["time"] - 100}))
        assert health() == (1, "the engine has given no sign of life for 100 s")
        code, answer = health("--json")
        assert code == 1
        assert json.loads(answer)["why_not_well"].endswith("no sign of life for 100 s")
        (state / "health.json").write_text(json.dumps(known))
        slurm.leased.clear()
        assert health() == (1, "the engine has no lease")
        engine.run(stopped)
    assert health()[1].startswith("the engine ended 0 s ago: stopped")


def test_an_audit_log_that_cannot_be_written_is_said(slurm, make, tmp_path):
    """The engine goes on."""
    key = submit(slurm)
    (tmp_path / "state/audit.jsonl").mkdir(parents=True)
    engine = make()
    with engine.opened():
        steps(engine, slurm, 2)
    assert slurm.snapshot().jobs[key].state == "RUNNING"
    assert "audit.jsonl is not written, the engine goes on: Is a directory" in engine.said[0]


def test_a_dry_run_takes_no_lease(slurm):
    """It asks for no rights."""
    engine = Engine(slurm, Mirror(EURORA, "prb"))
    with engine.opened():
        engine.cycle()
    assert slurm.leased == {}
