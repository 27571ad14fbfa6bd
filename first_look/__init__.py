"""``cpsched try``: a log without a machine or options, and what may be said of it."""
