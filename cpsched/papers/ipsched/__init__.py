"""IPSCHED: an integer program matches a window of jobs to nodes (Soner and Ozturan, 2012)."""
