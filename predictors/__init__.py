"""Runtime predictors for cpsched."""

#: Tells the registry that this is the package it means, not another one of the same name.
CPSCHED_PACKAGE = True
