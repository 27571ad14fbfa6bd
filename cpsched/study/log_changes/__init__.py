"""Changes to the jobs of a log and to the machine, for what-ifs."""
