"""Plain data: workload, job table, system, topology, allocation, decision, view."""
