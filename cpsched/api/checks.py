"""What plug-ins must keep."""

from __future__ import annotations

from cpsched.checks import CheckError, require, through_a_file
from cpsched.checks.look_ahead import look_ahead
