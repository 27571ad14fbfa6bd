"""
What the page of a live queue costs while many jobs wait: a look, a scrape of /metrics, a forecast.

``python benchmarks/slurm/metrics.py [--waiting 10000] [--scrapes 20] [--ask 50]``: 1,024 nodes are
full, and jobs of 1 to 16 nodes wait; the record of a twin has a week of invented jobs
(``benchmarks/slurm/twin.py``), from which runtimes are drawn and days repeated. The page is served
on a port of this machine and scraped over HTTP as Prometheus would; then single jobs, spread
evenly over the queue, are asked about as ``cpsched slurm when JOB`` does. Wall times, seed 0.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from twin import Week

from cpsched import systems
from slurm_adapter.live.page.page import Watch, metrics_of
from slurm_adapter.live.page.server import server
from slurm_adapter.live.queue import LiveQueue
from slurm_adapter.live.record import Record
from slurm_adapter.live.snapshot import LiveJob, Placed, Snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_DAY = 86400
_BEGAN = 1_700_000_000
_ACCEPT = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"


class FullMachine:
    """A Slurm whose nodes are all in use, with jobs in the queue; it never changes."""

    def __init__(self, system, waiting: int, now: int) -> None:
        rng = np.random.default_rng(0)
        names, cores = system.node_names, int(system.capacity[0, system.resource_index("core")])
        jobs = []
        for at in range(0, len(names), 4):
            nodes, limit = names[at : at + 4], int(rng.choice([3600, 7200, 21600, 86400]))
            start = now - int(rng.integers(0, limit))
            placed = tuple(Placed(node, cores, 0) for node in nodes)
            jobs.append(
                _job(100_000 + at, start - 600, 4, cores, limit, state="RUNNING", start=start,
                     end=start + limit, nodes=tuple(nodes), placed=placed)
            )  # fmt: skip
        submits = np.sort(rng.integers(now - _DAY, now, waiting)).tolist()
        nodes, limits = (
            rng.choice([1, 1, 2, 4, 16], waiting),
            rng.choice([600, 3600, 7200, 21600], waiting),
        )
        jobs += (
            _job(200_000 + at, submit, int(nodes[at]), cores, int(limits[at]))
            for at, submit in enumerate(submits)
        )
        self._seen = Snapshot(now, {job.key: job for job in jobs}, frozenset())

    def snapshot(self) -> Snapshot:
        """Return the queue."""
        return self._seen

    def expected_starts(self) -> dict[str, int]:
        """Return nothing: it does not plan."""
        return {}


def _job(number: int, submit: int, size: int, cores: int, limit: int, **more) -> LiveJob:
    usual = {"state": "PENDING", "reason": "Priority", "user": f"user{number % 90}"}
    return LiveJob(
        key=str(number), number=number, submit=submit, nodes_min=size, nodes_max=size,
        cpus=size * cores, tasks=size * cores, time_limit=limit, name="x" * 20,
        partition=("batch", "long")[number % 2], **usual | more,
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--waiting", type=int, default=10_000)
    parser.add_argument("--scrapes", type=int, default=20)
    parser.add_argument("--ask", type=int, default=50)
    parser.add_argument("--direct", type=int, default=3, help="of them also without a page")
    parser.add_argument("--dispatcher", default="easy")
    args = parser.parse_args()
    system = systems.load("tree-1024")
    with tempfile.TemporaryDirectory() as folder:
        record, now = Record(Path(folder)), _BEGAN + 7 * _DAY
        week = Week(20_000, 7)
        for second in range(0, 7 * _DAY + 1, 600):
            record.see(week.at(_BEGAN + second), week)
        slurm = FullMachine(system, args.waiting, now)
        watch = Watch(
            backend=slurm, system=system, dispatcher=args.dispatcher, twin=Path(folder),
            metrics=metrics_of(None),
        )  # fmt: skip
        print("| what | times | median [s] | p95 [s] | longest [s] |\n|:--|--:|--:|--:|--:|")
        # The first one compiles.
        watch.look()
        _say("a look with forecasts of all waiting jobs", [_timed(watch.look) for _ in range(3)])
        if watch.document["error"] or watch.document["bounds"]:
            raise SystemExit(f"no forecasts: {watch.document['error']}")
        keys = [job["job"] for job in watch.document["waiting"]]
        asked = keys[:: max(len(keys) // args.ask, 1)][: args.ask]
        with server(watch, 0) as page:
            threading.Thread(target=page.serve_forever, daemon=True).start()
            served(f"http://127.0.0.1:{page.server_address[1]}", watch, asked, args.scrapes)
            page.shutdown()
        queue = LiveQueue(slurm.snapshot(), system, args.dispatcher, record=record)
        for what, ask in (
            ("one forecast made anew", lambda key: _forecast(queue, key)),
            ("the same with advice: `slurm when JOB`", queue.when),
        ):
            chosen = asked[:: max(len(asked) // max(args.direct, 1), 1)][: args.direct]
            if chosen:
                _say(what, [_timed(lambda ask=ask, key=key: ask(key)) for key in chosen])


def served(at: str, watch: Watch, asked: Sequence[str], scrapes: int) -> None:
    """Scrape and ask while nothing else happens, and during a look."""
    for key in asked[:2]:
        _get(f"{at}/job.json?job={key}")
    for when in ("", ", during a look"):
        look = threading.Thread(target=watch.look)
        if when:
            look.start()
        took = []
        for _ in range(scrapes):
            took.append(_timed(lambda: _get(f"{at}/metrics")))
            time.sleep(0.2 if when else 0)
        _say(f"a scrape of /metrics{when}", took)
        _say(
            f"a forecast and its reason from the page{when}",
            [_timed(lambda key=key: _get(f"{at}/job.json?job={key}")) for key in asked],
        )
        if when:
            print(f"(the look {'still runs' if look.is_alive() else 'has ended'})")
            look.join()
    text = _get(f"{at}/metrics")
    print(f"{len(text):,} bytes, {text.count(chr(10).encode()):,} lines of metrics")


def _get(address: str) -> bytes:
    request = urllib.request.Request(address, headers={"Accept": _ACCEPT})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.read()


def _forecast(queue: LiveQueue, key: str) -> None:
    queue.forecaster().forecast(queue.present, np.array([queue.handle(key)]))


def _timed(do: Callable[[], object]) -> float:
    before = time.perf_counter()
    do()
    return time.perf_counter() - before


def _say(what: str, seconds: Sequence[float]) -> None:
    middle, high = np.quantile(seconds, [0.5, 0.95])
    print(
        f"| {what} | {len(seconds)} | {middle:.3f} | {high:.3f} | {max(seconds):.3f} |",
        flush=True,
    )


if __name__ == "__main__":
    main()
