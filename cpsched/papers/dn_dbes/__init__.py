"""
DN-DBES: a batch scheduler and a runtime scheduler negotiate about jobs that change their size.

Nagendra, "Distributed Negotiable Dependency Based Expand Shrink": the *batch side* knows the queue
and wants jobs started, the *runtime side* knows what runs and how it may shrink and grow, and wants
the machine full. They exchange offers and mappings of jobs to them until both accept. Sections and
algorithms named in this package are of that thesis; ``docs/papers/malleable.md`` says what is
done where it leaves something open.

Both sides answer messages; nothing in them knows clocks, files or the machine.
"""
