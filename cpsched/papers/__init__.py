"""Dispatchers, workloads and tools of particular papers, as plug-ins."""
