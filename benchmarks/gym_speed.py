"""
How many decisions a second the environments take on one core, observations included.

An agent takes the shortest job that it is shown, or the first rule; finding it counts, too. Without
``--log`` the bundled log is played on Eurora as one pool. ``--csv`` writes the table.
"""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path
from statistics import median

import gymnasium
import measure
import numpy as np

from cpsched.gym.episode_jobs import pool_of
from cpsched.gym.features import ESTIMATE
from cpsched.logs import read as read_log
from cpsched.simulation.simulate import simulate
from cpsched.systems import load as load_system
from cpsched.systems.mapping import fit
from cpsched.util import resources

NAME = "cpsched.gym:BatchScheduling-v0"
#: What is decided, by what tables call it.
KINDS = {
    "job, EASY": {"behind": "sjf"},
    "job, EASY, dict": {"behind": "sjf", "observation": "dict"},
    "job, no backfilling": {"backfill": "none"},
    "job that fits, or wait": {"choose": "fitting", "backfill": "none", "wait": True},
    "rule, EASY": {"action": "rule"},
}


def shortest(rows, mask):
    """Return the shortest possible job of each environment."""
    return np.where(mask, rows[..., ESTIMATE], 9.0).argmin(axis=-1)


def rate(env, num, is_rule, seconds):
    """Return decisions per CPU second of an environment, or of many."""
    rows, info = env.reset(seed=1)
    first = np.zeros(num, dtype=np.int64) if num else 0
    count, before = 0, time.process_time()
    while (spent := time.process_time() - before) < seconds:
        for _ in range(20):
            rows = rows["jobs"] if isinstance(rows, dict) else rows
            action = first if is_rule else shortest(rows, info["action_mask"])
            rows, _, done, _, info = env.step(action)
            count += max(num, 1)
            if not num and done:
                rows, info = env.reset()
    return count / spent


def simulated(fitted, seconds):
    """Return starts per CPU second of the simulator, which shows nothing, for comparison."""
    count, before = 0, time.process_time()
    while (spent := time.process_time() - before) < seconds:
        run = simulate(fitted, dispatcher="easy:order=sjf")
        count += run.decisions["starts"]
    return count / spent


def main():
    """Measure each kind alone and in batches, in turns."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--log", help="a log; requested times that it lacks are the runtimes")
    parser.add_argument("--system", default="eurora", help="a name, or a number of processors")
    parser.add_argument("--length", type=int, default=512)
    parser.add_argument("--envs", type=int, nargs="+", default=[1, 16, 64, 256])
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--csv", type=Path)
    asked = parser.parse_args()
    log = read_log(asked.log or resources.path("logs", "eurora-sample.csv.gz"))
    lacking = log.requested_time <= 0
    log = log.with_columns(
        requested_time=np.where(lacking, np.maximum(log.runtime, 1), log.requested_time)
    )
    system = pool_of(int(asked.system)) if asked.system.isdigit() else load_system(asked.system)
    fitted = fit(log, system)
    made = {}
    for kind, decides in KINDS.items():
        given = {"log": fitted, "length": asked.length, **decides}
        made[kind, 0] = gymnasium.make(NAME, **given, disable_env_checker=True)
        for num in asked.envs:
            made[kind, num] = gymnasium.make_vec(
                NAME, num_envs=num, vectorization_mode="vector_entry_point", **given
            )
    speeds = {key: [] for key in made}
    alone = []
    for turn in range(asked.runs + 1):
        for (kind, num), env in made.items():
            speed = rate(env, num, "action" in KINDS[kind], asked.seconds if turn else 0.1)
            speeds[kind, num] += [speed] if turn else []
        alone += [simulated(fitted, asked.seconds)] if turn else []
    head = ["decides", "single", *(f"{num} at once" for num in asked.envs)]
    rows = [
        [kind, *(f"{median(speeds[kind, num]):.0f}" for num in (0, *asked.envs))] for kind in KINDS
    ]
    title = (
        f"Decisions per CPU second, {len(log)} jobs on {asked.system}, windows of {asked.length}"
    )
    measure.table(title, head, rows)
    print(f"Starts per CPU second of simulate, easy:order=sjf, unobserved: {median(alone):.0f}")
    if asked.csv:
        with asked.csv.open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([head, *rows])


if __name__ == "__main__":
    main()
