"""Compile nearly all kernels, of machines whose jobs mind which nodes go together or of others."""

import sys

from tiny import jobs, machine, run

from cpsched.answer import why_in_log
from cpsched.answer.when import when_in_log
from cpsched.mapping import fit

RULES = ("easy", "conservative", "fifo", "prb", "easy:priority=urgency", "cp-2")
#: Of each process: what it simulates. What is compiled once for all machines is in one of them.
PARTS = {
    "together": RULES,
    "apart": (*RULES, "rollout", "cph-2", "plan"),
    "slurm": ("slurm-backfill",),
}


def main(part):
    """Simulate and explain three jobs, of which one holds all cores and two wait."""
    workload = jobs((0, 4, 9), (1, 4, 4), (2, 1, 30), contiguous=[part == "together"] * 3)
    four = machine((4,))
    for dispatcher in PARTS[part]:
        run(workload, four, dispatcher)
    if part != "slurm":
        why_in_log(fit(workload, four), job="2", time=3)
    if part == "apart":
        when_in_log(fit(workload, four), time=3, judged=0)


if __name__ == "__main__":
    main(sys.argv[1])
