"""A site's own files (slurm.conf and others) as a system and a policy."""
