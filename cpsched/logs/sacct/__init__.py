"""Jobs in the output of ``sacct``, in batch scripts, and in schedules written as such output."""
