"""The live queue of a Slurm: what starts when, and why a job waits. Nothing is changed."""
