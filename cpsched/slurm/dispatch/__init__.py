"""A site's policy as a dispatcher: queue, priorities, limits, and the passes of Slurm."""
