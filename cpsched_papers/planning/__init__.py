"""Plans of one static instance: all jobs known, the machine empty."""
