"""One figure of one run, for notebooks: ``run.plot(kind)``."""
