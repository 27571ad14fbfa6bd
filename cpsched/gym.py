"""Registers environments (``cpsched.environments``): ``gymnasium.make("cpsched.gym:NAME-v0")``."""

from cpsched.base import registry

for _name in registry.names("environments"):
    registry.load("environments", _name)()
