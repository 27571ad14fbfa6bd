"""Search for better settings of a site, checked on later jobs: ``cpsched tune``."""
