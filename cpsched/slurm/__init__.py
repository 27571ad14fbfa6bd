"""Slurm's own files and commands: a site's configuration as a system and a policy."""
