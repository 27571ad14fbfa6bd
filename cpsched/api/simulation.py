"""The engine and the simulator that drives it, and what is measured of a schedule."""

from __future__ import annotations

from cpsched.engine.cluster import Cluster
from cpsched.engine.encoder import JobEncoder, Request
from cpsched.metrics.columns import job_places
from cpsched.metrics.fidelity import SHORTEST, Measured, Waits, both_waits
from cpsched.metrics.groups import SIZES, asks_for_gpus, groups_of, job_size, kinds_of
from cpsched.metrics.jobs import CLASSES, MEDIUM_LIMIT, SHORT_LIMIT, JobClass, job_class
from cpsched.metrics.leading import BY_NAME as LEADING_FIGURES
from cpsched.metrics.leading import LEADING, Figure, Figures, leading_table
from cpsched.metrics.nominal import nominal
from cpsched.metrics.offered import offered_load
from cpsched.metrics.outcomes import counted_jobs, is_attempt, outcomes
from cpsched.metrics.predictions import job_sample, not_a_forecast
from cpsched.metrics.steps import StepFunction, distinct, waiting
from cpsched.metrics.waits import MEANING as WAIT_MEANING
from cpsched.metrics.waits import began, held, recorded_wait
from cpsched.metrics.window import Window, busy_window
from cpsched.metrics.workload import describe as describe_workload
from cpsched.model.schedule import JobOutcome, Leaving, Outages, Schedule, Segments
from cpsched.simulation import checkpoint
from cpsched.simulation.arrivals import Arrivals
from cpsched.simulation.observers import Observer, RunObserver
from cpsched.simulation.present import Present
from cpsched.simulation.record import AllocationRecorder, DecisionRecorder
from cpsched.simulation.runtime_models import Parts, Recorded, refuse_other_sizes
from cpsched.simulation.simulate import Run, Settings, simulate, simulator_of
