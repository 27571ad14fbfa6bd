"""Discrete-event simulation of a machine under a dispatcher."""
