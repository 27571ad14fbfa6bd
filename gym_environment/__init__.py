"""
Environments for Gymnasium: an agent decides which job goes next, or by which rule.

The environment needs gymnasium (``pip install 'cpsched[gym]'``); a trained policy, the dispatcher
``policy``, needs nothing that cpsched does not.
"""
