"""
Time the event loop alone: simulate the first jobs of a log again and again, print JSON.

The loop is what ``Simulator.run`` does: events, decisions, bookkeeping and the recording of every
allocation; not reading, mapping, metrics or files. The sizes take
turns, so that a slow moment of the machine does not hit one of them alone.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

import numpy as np

from cpsched import logs, systems
from cpsched.simulation.simulate import simulate
from cpsched.systems.mapping import fit


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("log")
    parser.add_argument("system")
    parser.add_argument("dispatcher")
    parser.add_argument("runs", type=int)
    parser.add_argument("sizes", type=int, nargs="+", help="numbers of jobs; 0: all")
    args = parser.parse_args()
    log, system = logs.read(args.log), systems.load(args.system)
    sizes = sorted({min(size or len(log), len(log)) for size in args.sizes})
    parts = {size: fit(log.select(first=size), system) for size in sizes}
    simulate(parts[sizes[0]], dispatcher=args.dispatcher)
    runs: dict[int, list[dict[str, Any]]] = {size: [] for size in sizes}
    deepest: dict[int, int] = {}
    for _ in range(args.runs):
        for size, fitted in parts.items():
            run = simulate(fitted, dispatcher=args.dispatcher)
            counts = {"decisions": run.decisions["decisions"], "starts": run.decisions["starts"]}
            runs[size].append({**run.timing, **counts})
            deepest[size] = _longest_queue(run.schedule.workload.submit, run.schedule.start)
    rows = [{"jobs": size, "queue": deepest[size], "runs": runs[size]} for size in sizes]
    print(json.dumps(rows))


def _longest_queue(submit: np.ndarray, start: np.ndarray) -> int:
    """Return the most jobs that wait at once."""
    started = start >= 0
    times = np.concatenate([submit[started], start[started]])
    step = np.repeat([1, -1], int(started.sum()))
    # A start counts before a submit of the same second: this is the queue after the dispatch.
    order = np.lexsort((step, times))
    return int(np.cumsum(step[order]).max(initial=0))


if __name__ == "__main__":
    main()
