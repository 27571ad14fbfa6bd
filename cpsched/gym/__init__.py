"""
Environments for Gymnasium: an agent decides which job goes next, or by which rule.

``gymnasium.make("cpsched.gym:BatchScheduling-v0")`` imports this package, which registers the
environment then. It needs gymnasium (``pip install 'cpsched[gym]'``). A trained policy, the
dispatcher ``learned``, does not need it.
"""

from importlib.util import find_spec

if find_spec("gymnasium"):
    from cpsched.gym.environment import register

    register()
