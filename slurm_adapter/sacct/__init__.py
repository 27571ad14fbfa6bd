"""Jobs in the output of ``sacct``, and in schedules written as such output."""
