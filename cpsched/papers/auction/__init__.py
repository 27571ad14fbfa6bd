"""AUCSCHED 1 to 3: jobs of a window bid for nodes, and an auction chooses (Soner's thesis)."""
