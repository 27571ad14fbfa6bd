"""What a command is made of: options, what it prints, bars, reports."""

from __future__ import annotations

from cpsched.cli.ask import AT, OneRun
from cpsched.cli.log_study import say_what_is_assumed, study_of_log
from cpsched.cli.options import (
    JOBS,
    LOGS,
    LOOK,
    SLURM,
    STUDY,
    AsJson,
    Dispatcher,
    Group,
    Jobs,
    Log,
    On,
    Overwrite,
    Predictor,
    Seed,
    SiteRuns,
    StudyFolder,
    SystemName,
    WorkloadFile,
    fitted_of,
    grouped,
    moment,
    second_of,
)
from cpsched.cli.output import complain, counted, echo, escaped, print_json
from cpsched.cli.progress import (
    counted_of,
    display,
    progress_bar,
    reading,
    steps,
    study_bars,
    times,
    working,
)
from cpsched.cli.report import not_simulated, say, totals, width
from cpsched.cli.results import results_as_data, show_results
from cpsched.cli.verify import checked_run
