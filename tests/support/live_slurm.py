"""A real Slurm and the fake one, driven in the same words."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from fake_slurm import FakeSlurm

from cpsched import systems
from slurm_adapter.live.snapshot import Reserved

EURORA = systems.load("eurora")


def submit(slurm, **asked):
    """Submit a job of four cores to a Slurm in memory, unless something else is asked."""
    usual = {"cpus": 4, "tasks": 4, "mem": 1000, "partition": "R"}
    return slurm.submit(**{**usual, **asked})


def steps(engine, slurm, count=10):
    """Let an engine decide every second."""
    for _ in range(count):
        engine.cycle()
        slurm.advance()


@dataclass
class Real:
    """The private Slurm behind one of the real backends."""

    slurm: Any
    backend: Any

    def submit(self, *, nodes=1, cores=1, seconds=100, gres="", name="job", comment="", after=""):
        options = [f"--nodes={nodes}", f"--ntasks={cores}", "--time=5", f"--job-name={name}"]
        options += [f"--comment={comment}"] if comment else []
        options += [f"--gres={gres}"] if gres else []
        options += [f"--dependency={after}"] if after else []
        fixed = ("--parsable", "--export=NIL", "--output=/dev/null", "--chdir=/tmp", "-p", "R")
        wrap = f"--wrap=exec sleep {seconds}"
        return self.slurm.run("sbatch", *fixed, *options, wrap).strip()

    def wait(self, ready, seconds=120):
        """Return the first snapshot of which something is true."""
        end = time.monotonic() + seconds
        while not ready(snapshot := self.backend.snapshot()):
            assert time.monotonic() < end, snapshot
            time.sleep(0.05)
        return snapshot

    def cancel(self, key):
        self.slurm.run("scancel", key)

    def hold(self, key):
        self.slurm.run("scontrol", "hold", key)

    def close(self, node):
        self.slurm.run("scontrol", "update", f"NodeName={node}", "State=DRAIN", "Reason=a b\nc|")

    def open(self, node):
        self.slurm.run("scontrol", "update", f"NodeName={node}", "State=RESUME")

    @contextmanager
    def reserved(self, node, *, after, seconds):
        self.slurm.run(
            *("scontrol", "create", "reservation", "ReservationName=lesson", "Users=root"),
            *(f"StartTime=now+{after}", f"Duration={seconds // 60}", f"Nodes={node}"),
        )
        yield
        self.slurm.run("scontrol", "delete", "ReservationName=lesson")


@dataclass
class Fake:
    """The fake one; waiting lets its clock run."""

    backend: FakeSlurm

    def submit(self, *, nodes=1, cores=1, seconds=100, gres="", name="job", comment="", after=""):
        return self.backend.submit(
            seconds=seconds, nodes_min=nodes, nodes_max=nodes, cpus=cores, tasks=cores,
            gres_per_node=gres, name=name, comment=comment, dependency=after, partition="R",
            mem=900 * 1024, time_limit=300,
        )  # fmt: skip

    def wait(self, ready, seconds=20):
        for _ in range(seconds):
            if ready(snapshot := self.backend.snapshot()):
                return snapshot
            self.backend.advance()
        raise AssertionError(snapshot)

    def cancel(self, key):
        self.backend.cancel(key)

    def hold(self, key):
        self.backend.change(key, held=True, reason="JobHeldAdmin")

    def close(self, node):
        self.backend.close(node)

    def open(self, node):
        self.backend.open(node)

    @contextmanager
    def reserved(self, node, *, after, seconds):
        start = self.backend.now + after
        self.backend.reserved = (Reserved((node,), start, start + seconds),)
        yield
        self.backend.reserved = ()


def fake():
    return Fake(FakeSlurm(EURORA))
