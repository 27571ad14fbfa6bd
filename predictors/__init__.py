"""Runtime predictors for cpsched."""

from cpsched.former_names import name_removed_modules

name_removed_modules()
