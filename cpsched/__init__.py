"""cpsched: a constraint-programming scheduling engine for HPC batch jobs."""
