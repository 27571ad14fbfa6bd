"""Dispatchers that change the sizes of running jobs."""
