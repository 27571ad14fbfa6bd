"""Predictors replayed along a log: their answers, how good these are, and training."""
