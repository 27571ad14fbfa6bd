"""A private Slurm on this machine, on which a dispatcher decides."""
