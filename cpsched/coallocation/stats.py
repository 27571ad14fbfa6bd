"""
What a co-allocation decision reports besides the numbers of :mod:`cpsched.cp.stats`.

Every value makes sense summed over a run, and is the same in every equal run.
"""

from __future__ import annotations

#: Variables and constraints of the programs solved.
MODEL_VARIABLES = "model_variables"
MODEL_CONSTRAINTS = "model_constraints"
#: Decisions that missed their limit: nothing starts, and the window is halved.
WINDOW_HALVED = "window_halved"
#: Programs on classes of nodes whose best value no nodes attain, ...
NOT_ATTAINED = "not_attained"
#: ... and of these, those solved again node by node.
SOLVED_ON_NODES = "solved_on_nodes"
#: Decisions that called the solver, where one may do so more than once.
SOLVED = "solved"
#: Bids in the auctions held.
BIDS = "bids"
#: Decisions for which partial auctions stood in for the whole program.
SEARCHED = "searched"
