"""Values as files write them: amounts, durations, dates, sections of settings."""

from __future__ import annotations

from cpsched.base.quantities import amount as parse_amount
from cpsched.base.quantities import duration as parse_duration
from cpsched.base.quantities import instant, minutes, seconds_within, whole
from cpsched.base.section import Section
