"""A live Slurm: a private one for tests, reading its queue, and acting on it."""
