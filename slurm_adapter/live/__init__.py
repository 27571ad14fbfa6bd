"""A live Slurm: a private one to try things on, what its queue looks like, and acting on it."""
