"""
Constraint programming: dispatchers after Remediani 2017, chapter 4, and what they are made of.

``cph`` (hybrid) decides *when* on the machine as one pool and then looks for nodes; ``cp`` (pure)
decides when and where at once. The pieces can be used for others (docs/write-a-cp-dispatcher.md):
the pool and limits of one's own (:mod:`~cpsched.cp.pool`), nodes over time
(:mod:`~cpsched.cp.nodes`), places and units on them (:mod:`~cpsched.cp.places`,
:mod:`~cpsched.cp.placement`), objectives (:mod:`~cpsched.cp.objective`), bounds of starts
(:mod:`~cpsched.cp.bounds`), and solving a model and following the better of its answer and a list
plan (:mod:`~cpsched.cp.solve`).
"""
