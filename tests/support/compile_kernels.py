"""Compile nearly all kernels, of machines whose jobs mind which nodes go together or of others."""

import sys

from tiny import jobs, machine, run

from cpsched.forecast import why_in_log
from cpsched.forecast.log_forecast import when_in_log
from cpsched.gym.environment import BatchScheduling
from cpsched.systems.mapping import fit

RULES = ("easy", "conservative", "fifo", "greedy", "greedy:order=sjf", "easy:order=wsept", "cp-2")
#: Of each process: what it simulates. What is compiled once for all machines is in one of them.
PARTS = {
    "together": RULES,
    "apart": (*RULES, "cph-2", "lookahead"),
    "slurm": ("slurm-backfill", "slurm"),
}


def main(part):
    """Simulate and explain four jobs, of which the second must wait and the last would delay it."""
    rows = (0, 2, 10), (1, 4, 4), (3, 1, 6), (4, 1, 8)
    workload, four = jobs(*rows, contiguous=[part == "together"] * 4), machine((4,))
    for dispatcher in PARTS[part]:
        run(workload, four, dispatcher, "knn" if part == "slurm" else "requested")
    if part == "slurm":
        run(workload, four, "slurm")
    if part != "slurm":
        why_in_log(fit(workload, four), job="3", time=4)
    if part == "apart":
        when_in_log(fit(workload, four), time=4, judged=0)
        episode = BatchScheduling(workload, four, length=4)
        episode.reset()
        episode.step(0)
        episode.episodes.by_rule(0, "sjf")


if __name__ == "__main__":
    main(sys.argv[1])
