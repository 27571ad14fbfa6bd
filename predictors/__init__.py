"""Runtime predictors for cpsched."""
