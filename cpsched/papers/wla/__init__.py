"""WLA: the jobs of a window are packed into runs of free nodes, as a multiple knapsack problem."""
