"""List schedulers, backfilling and allocators."""
