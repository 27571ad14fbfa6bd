"""
Environments for Gymnasium: an agent decides which job goes next, or by which rule.

``gymnasium.make("cpsched.gym:BatchScheduling-v0")`` imports this package, which registers the
environment then. It needs gymnasium (``pip install 'cpsched[gym]'``). A trained policy, the
dispatcher ``policy``, does not need it.
"""

import sys

if "gymnasium" in sys.modules:
    from cpsched.gym.environment import register

    register()
