"""Slurm's policy: its parameters, priorities, limits and scheduling."""
