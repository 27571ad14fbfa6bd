"""Figures of a study's runs, for papers and for the report: SVG, PNG or PDF."""
