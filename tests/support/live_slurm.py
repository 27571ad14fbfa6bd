"""A Slurm in memory with the nodes of Eurora, and jobs on it."""

from __future__ import annotations

from cpsched import systems

EURORA = systems.load("eurora")


def submit(slurm, **asked):
    """Submit a job of four cores to a Slurm in memory, unless something else is asked."""
    usual = {"cpus": 4, "tasks": 4, "mem": 1000, "partition": "R"}
    return slurm.submit(**{**usual, **asked})
