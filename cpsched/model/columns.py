"""
Positions of the columns in a job store and in its table of request shapes.

Kernels index both by these numbers; numba freezes them at compile time, so the kernels' cache is
keyed by this file too.
"""

# Columns of JobStore.columns; one job a row.
HANDLE = 0
SUBMIT = 1
REQUESTED_TIME = 2
UNITS = 3
SHAPE = 4
NODES_MIN = 5
NODES_MAX = 6
EXPECTED_WAIT = 7
QUEUE = 8
USER = 9
NAME = 10
GROUP = 11
JOB_TYPE = 12
UNITS_MIN = 13
UNITS_MAX = 14
URGENT = 15
DEADLINE = 16
NOT_BEFORE = 17
ASSUMED = 18
# Predicted runtimes; the requested time until a predictor has answered.
PRIORITY = 19
PLAN = 20
BOUND = 21
#: Columns below this number are set at submit; those from here on by who runs the jobs.
NUM_SUBMIT = 22
ATTEMPTS = 22
STATE = 23
START = 24
EXPECTED_END = 25
ALLOC_FIRST = 26
ALLOC_COUNT = 27
NUM_COLUMNS = 28

# Values of STATE.
WAITING = 0
STARTING = 1
RUNNING = 2
COMPLETING = 3
ENDED = 4
HELD = 5

# Columns of JobStore.shapes; then R requests, R per-node amounts, R per-node maxima.
SHAPE_CLASS = 0
SHAPE_SPLIT = 1
SHAPE_CONTIGUOUS = 2
SHAPE_EXCLUSIVE = 3
SHAPE_REQUEST = 4
