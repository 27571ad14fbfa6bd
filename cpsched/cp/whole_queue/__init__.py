"""A plan of the whole queue at every decision, for runtime estimates that are the truth."""
