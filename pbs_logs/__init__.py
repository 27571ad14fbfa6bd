"""Accounting logs of PBS, as a plug-in: nothing in cpsched names them."""
