"""Logs and machines: reading, writing and fitting them to each other."""

from __future__ import annotations

from cpsched.mapping import Fitted, append, fit
from cpsched.model.workload import COLUMNS, MAX_NICE, Labels, Workload
from cpsched.traces import read as read_log
from cpsched.traces.checks import LogTooLargeError, check_header
from cpsched.traces.collect import Job, Jobs, NotAJobError, Shape, ordered
from cpsched.traces.limits import MAX_LINE, MAX_RATIO, SMALL_UNPACKED
from cpsched.traces.text import Place, decode, head, lines, opened, written
