"""
Constraint programming: dispatchers after Remediani 2017, chapter 4, and what they are made of.

``cph`` (hybrid) decides *when* on the machine as one pool and then looks for nodes; ``cp`` (pure)
decides when and where at once. The pieces can be used for others:
docs/guides/write-a-cp-dispatcher.md.
"""
