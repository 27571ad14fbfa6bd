"""Changes to the jobs of a log, for what-ifs: more or fewer jobs, or other requests."""
