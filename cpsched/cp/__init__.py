"""
Dispatchers that plan with constraint programming, after Remediani 2017, chapter 4.

``cph`` (hybrid) decides *when* on the machine as one pool and then looks for nodes; ``cp`` (pure)
decides when and where at once. :mod:`cpsched.cp.problem` is what both are given to solve.
"""
