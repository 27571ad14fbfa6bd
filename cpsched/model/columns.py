"""
Positions of the columns in a job store and in its table of request shapes.

The native core has the same columns in the same order: ``cpsched/cpp/job.h`` and ``request.h``.
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
NOT_BEFORE = 12
SWITCH_WAIT = 13
RESTARTABLE = 14
# Who may change the job's size (JobType), and the units it may have.
JOB_TYPE = 15
UNITS_MIN = 16
UNITS_MAX = 17
#: Millionths of its work that no unit can share with another.
SERIAL = 18
#: Seconds without progress after each change of size.
RESIZE_COST = 19
URGENT = 20
DEADLINE = 21
# What Slurm knows of a job besides: codes of labels, and numbers.
QOS = 22
RESERVATION = 23
LICENSES = 24
ARRAY = 25
#: Most tasks of its array that may run at once, 0 for any number.
ARRAY_LIMIT = 26
#: What the user takes off the job's priority.
NICE = 27
# Predicted runtimes; the requested time until a predictor has answered.
RANKING_ESTIMATE = 28
RUNTIME_ESTIMATE = 29
RUNTIME_BOUND = 30
#: Columns below this number are set at submit; those from here on by who runs the jobs.
NUM_SUBMIT = 31
ATTEMPTS = 31
#: The most seconds the job has run at a stretch without coming to its end.
RAN = 32
STATE = 33
START = 34
EXPECTED_END = 35
#: Units that a running job holds, and since when it has held its nodes.
HELD_UNITS = 36
SINCE = 37
#: Units that a running evolving job has asked for, 0 for none.
WANTED_UNITS = 38
#: Where the ranges of nodes that a running job holds lie, and how many there are.
ALLOC_FIRST = 39
ALLOC_COUNT = 40
NUM_COLUMNS = 41

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
# Nodes in one segment, the most groups of the lowest level; 0: not asked for.
SHAPE_SEGMENT = 4
SHAPE_SWITCHES = 5
SHAPE_REQUEST = 6
