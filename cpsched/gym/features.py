"""What an agent is shown of jobs: the columns of an observation, one row for each action."""

from __future__ import annotations

from cpsched import _core

#: Names of the columns, in order; numbers from 0 to 1.
FEATURES = tuple(_core.feature_names())

IS_JOB = FEATURES.index("is_job")
IS_WAIT = FEATURES.index("is_wait")
WAITED = FEATURES.index("waited")
ESTIMATE = FEATURES.index("estimate")
FITS = FEATURES.index("fits")
UNTIL_FITS = FEATURES.index("until_fits")
