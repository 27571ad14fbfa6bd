"""The report of an experiment: tables, figures and one HTML file, of its run folders alone."""
