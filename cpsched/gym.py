"""Registers the environment: ``gymnasium.make("cpsched.gym:BatchScheduling-v0")``."""

from importlib import import_module

import_module("gym_environment.environment").register()
