"""Compiled: the passes of Slurm's schedulers over the queue."""
