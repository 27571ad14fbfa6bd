"""A machine whose state changes: what the simulator, adapters and embedding code drive."""
