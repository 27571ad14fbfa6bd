"""
The engine on a real Slurm: jobs start where they are told, whatever happens.

``live.py --nodes 64 --jobs 300 prb easy`` starts a private Slurm with the nodes of Eurora for each
dispatcher, submits jobs that Slurm holds, and lets ``cpsched slurm run --act`` decide. On the way
the controller is stopped and started again, the engine is killed (``kill -9``) and started again, a
node goes down, and jobs are cancelled. Afterwards Slurm's own record of completed jobs is held
against the engine's journal.
"""

from __future__ import annotations

import argparse
import collections
import json
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from sites import site_of

from cpsched import systems
from cpsched.base.node_lists import expand
from slurm_adapter.live import demo
from slurm_adapter.live.private import PrivateSlurm

HEAD = (
    "| dispatcher | jobs | cancelled | starts | wrong nodes | lost | started twice | taken back"
    " | order to running: median [s] | p90 [s] | max [s] | all done after [s] |"
)


def main() -> None:
    parser = argparse.ArgumentParser(description="Let dispatchers decide on a real Slurm.")
    parser.add_argument("dispatchers", nargs="+")
    parser.add_argument("--system", default="eurora")
    parser.add_argument("--nodes", type=int, default=64)
    parser.add_argument("--jobs", type=int, default=300)
    parser.add_argument("--mean", type=float, default=8, help="seconds that a job runs")
    parser.add_argument("--over", type=float, default=60, help="seconds of submits")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--calm", action="store_true", help="nothing fails on the way")
    parser.add_argument("--kill-controller", action="store_true", help="kill -9, not SIGTERM")
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    # Nothing is left behind then, either.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    print(f"{HEAD}\n|:--|{'--:|' * 11}")
    bad = 0
    for dispatcher in arguments.dispatchers:
        found = trial(dispatcher, arguments)
        bad += found["wrong"] + found["lost"] + found["twice"]
        print(row(dispatcher, found), flush=True)
    sys.exit(bad > 0)


def trial(dispatcher: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """Run one dispatcher; return what is in its line."""
    site = site_of(systems.load(arguments.system), nodes=arguments.nodes)
    with (
        tempfile.TemporaryDirectory(prefix="cpsched-live-") as folder,
        PrivateSlurm(Path(folder) / "slurm", site) as slurm,
    ):
        run = Run(slurm, Path(folder) / "state", dispatcher, arguments)
        try:
            run.go()
        finally:
            run.stop()
        return run.found()


class Run:
    """A queue, the engine, and what happens to both."""

    def __init__(self, slurm: PrivateSlurm, state: Path, dispatcher: str, arguments: Any) -> None:
        self.slurm, self.state, self.arguments = slurm, state, arguments
        self.command = [
            *(sys.executable, "-m", "cpsched", "slurm", "run", "--act", "-d", dispatcher),
            *("--state", str(state)),
        ]
        self.engine: subprocess.Popen[str] | None = None
        self.lines: list[str] = []
        self.submitted: list[int] = []
        self.cancelled: set[int] = set()
        self.began = 0.0
        self.done_after = 0.0

    def start(self) -> None:
        """Start the engine."""
        self.engine = subprocess.Popen(
            self.command, env=self.slurm.environment, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        threading.Thread(target=self._listen, args=(self.engine.stdout,), daemon=True).start()

    def _listen(self, output: Any) -> None:
        for line in output:
            self.lines.append(line.rstrip())
            if self.arguments.verbose:
                print(line, end="", file=sys.stderr, flush=True)

    def stop(self) -> None:
        """End the engine as a site would."""
        if self.engine is not None and self.engine.poll() is None:
            self.engine.terminate()
            self.engine.wait(60)
            if self.engine.returncode:
                raise RuntimeError(
                    f"the engine ended with {self.engine.returncode}: {self.lines[-3:]}"
                )

    def go(self) -> None:
        """Submit, let things happen, and wait until all jobs are done."""
        given = self.arguments
        most = 8 if given.nodes >= 64 else 4
        jobs = list(demo.jobs(given.jobs, given.seed, mean=given.mean, most_nodes=most))
        chance = random.Random(self.arguments.seed)
        events = dict(self._events(len(jobs)))
        self.start()
        self.began = time.monotonic()
        for number, job in enumerate(jobs):
            wait = self.began + number * self.arguments.over / len(jobs) - time.monotonic()
            time.sleep(max(wait, 0))
            self.submitted.append(demo.submit(self.slurm, job))
            if not self.arguments.calm and chance.random() < 0.05:
                self._cancel(chance.choice(self.submitted))
            if number in events:
                events[number]()
        while self.slurm.run("squeue", "-h", "-a", "-o", "%A"):
            if self.engine is not None and self.engine.poll() is not None:
                raise RuntimeError(f"the engine ended: {self.lines[-3:]}")
            if time.monotonic() - self.began > 20 * self.arguments.over:
                raise RuntimeError(f"jobs are left: {self.slurm.run('squeue', '-a')}")
            time.sleep(0.5)
        self.done_after = time.monotonic() - self.began

    def _events(self, count: int) -> list[tuple[int, Any]]:
        if self.arguments.calm:
            return []
        moments = (count // 5, 2 * count // 5, 3 * count // 5, 4 * count // 5)
        return list(
            zip(moments, (self._engine, self._controller, self._down, self._up), strict=True)
        )

    def _engine(self) -> None:
        """Kill the engine right after it has told jobs to start."""
        assert self.engine is not None
        journal = self.state / "journal.jsonl"
        size = journal.stat().st_size if journal.exists() else 0
        end = time.monotonic() + 10
        while time.monotonic() < end and (not journal.exists() or journal.stat().st_size == size):
            time.sleep(0.001)
        self.engine.send_signal(signal.SIGKILL)
        self.engine.wait()
        self.start()

    def _controller(self) -> None:
        self.slurm.stop_controller(kill=self.arguments.kill_controller)
        time.sleep(2)
        self.slurm.start_controller()

    def _down(self) -> None:
        """Take the node down on which most jobs run: they are queued again."""
        busy = collections.Counter(self.slurm.run("squeue", "-h", "-t", "R", "-o", "%N").split())
        names = [name for text in busy for name in expand(text, 1000)]
        self.node = collections.Counter(names).most_common(1)[0][0] if names else "node001"
        self.slurm.run("scontrol", "update", f"NodeName={self.node}", "State=DOWN", "Reason=test")

    def _up(self) -> None:
        # It may have come back by itself.
        resume = ("scontrol", "update", f"NodeName={self.node}", "State=RESUME")
        self.slurm.run(*resume, check=False)

    def _cancel(self, job: int) -> None:
        self.cancelled.add(job)
        self.slurm.run("scancel", "--quiet", str(job), check=False)

    def found(self) -> dict[str, Any]:
        """Hold Slurm's record against the journal."""
        told: dict[str, list[tuple[float, frozenset[str]]]] = collections.defaultdict(list)
        for line in (self.state / "journal.jsonl").read_text().splitlines():
            entry = json.loads(line)
            if entry["what"] == "begin":
                told[entry["job"]].append((entry["at"], frozenset(entry["nodes"])))
        ran: dict[str, list[frozenset[str]]] = collections.defaultdict(list)
        over: dict[str, list[str]] = collections.defaultdict(list)
        for line in (self.slurm.folder / "log" / "jobcomp.txt").read_text().splitlines():
            entry = dict(re.findall(r"(\w+)=(\S*)", line))
            over[entry["JobId"]].append(entry["JobState"])
            if entry["NodeList"] not in ("", "(null)"):
                ran[entry["JobId"]].append(frozenset(expand(entry["NodeList"], 1000)))
        wrong = sum(
            nodes not in {told_nodes for _, told_nodes in told[job]}
            for job, every in ran.items()
            for nodes in every
        )
        ended = {"COMPLETED", "TIMEOUT"}
        lost = [
            job for job in map(str, self.submitted)
            if not over[job] or (int(job) not in self.cancelled and not ended & set(over[job]))
        ]  # fmt: skip
        twice = [job for job, states in over.items() if sum(s in ended for s in states) > 1]
        latencies = sorted(
            float(match[1])
            for line in self.lines
            if (match := re.search(r"after ([\d.]+) s$", line))
        )
        return {
            "jobs": len(self.submitted),
            "cancelled": len(self.cancelled),
            "starts": sum(map(len, ran.values())),
            "wrong": wrong,
            "lost": len(lost),
            "twice": len(twice),
            "taken_back": sum("is taken back:" in line for line in self.lines),
            "latencies": latencies,
            "done": self.done_after,
        }


def row(dispatcher: str, found: dict[str, Any]) -> str:
    """Return a line of the table."""
    latencies = found["latencies"] or [float("nan")]
    cuts = (statistics.median(latencies), latencies[int(0.9 * (len(latencies) - 1))], latencies[-1])
    numbers = [found[name] for name in
               ("jobs", "cancelled", "starts", "wrong", "lost", "twice", "taken_back")]  # fmt: skip
    shown = [f"{number}" for number in numbers] + [f"{cut:.1f}" for cut in cuts]
    return f"| `{dispatcher}` | {' | '.join(shown)} | {found['done']:.0f} |"


if __name__ == "__main__":
    main()
