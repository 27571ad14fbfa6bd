"""Generators of the workloads that papers describe."""
