"""Accounting logs of PBS and Torque, as a format of job logs."""
