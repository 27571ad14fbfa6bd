"""Logs and machines: reading, writing and fitting them to each other."""

from __future__ import annotations

from cpsched.logs import read as read_log
from cpsched.logs.checks import LogTooLargeError, check_header
from cpsched.logs.collect import Job, Jobs, NotAJobError, Shape, ordered
from cpsched.logs.limits import MAX_LINE, MAX_RATIO, SMALL_UNPACKED
from cpsched.logs.text import Place, decode, head, lines, opened, written
from cpsched.mapping import Fitted, append, fit
from cpsched.model.workload import COLUMNS, MAX_NICE, Labels, Workload
