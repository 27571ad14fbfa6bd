"""
Constraint programming: dispatchers after Remediani 2017, chapter 4, and their components.

``cp-pool`` (hybrid) decides *when* on the system as one pool and then looks for nodes.
``cp-nodes`` (pure) decides when and where at once. The components can be reused:
docs/guides/write-a-dispatcher.md.
"""
