"""Runs of a study as job arrays of a cluster, through submitit."""
