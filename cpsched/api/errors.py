"""What goes wrong: one tree of errors, each a message of one line."""

from __future__ import annotations

from cpsched.errors import (
    ConfigError,
    CpschedError,
    DispatchError,
    InfeasibleRequestError,
    RunError,
    TraceError,
    UnknownNameError,
    VerificationError,
    check_choice,
    check_least,
    check_range,
    did_you_mean,
    one_of,
    taking_up,
)
