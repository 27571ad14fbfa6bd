"""Compiled: episodes of many environments in one call, and what is observed of them."""
