"""
A log's jobs on a machine: queues, limits, units, eligible nodes, and jobs that can never run.

:func:`fit` is the only entry point; its rules are in the system file
(``docs/guides/describe-a-system.md``).
"""

from __future__ import annotations

from cpsched.systems.mapping.fit import Fitted, append, fit

__all__ = ["Fitted", "append", "fit"]
