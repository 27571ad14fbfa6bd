"""``cpsched bench``: dispatchers and predictors on a fixed set of logs, as one table."""
