"""Synthetic workloads; each generator is found by name through :mod:`cpsched.util.registry`."""
