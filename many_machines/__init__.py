"""Many machines in one log: a simulation for each, and one run of them all."""
