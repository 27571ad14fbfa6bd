"""The report of a study: tables, figures and one HTML file, of its run folders alone."""
