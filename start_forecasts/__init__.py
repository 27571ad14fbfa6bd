"""``cpsched when``: when the waiting jobs of a log will start, and how good such forecasts are."""
