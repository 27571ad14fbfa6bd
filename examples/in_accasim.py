"""A planning dispatcher and a predictor of cpsched in the real AccaSim, on a log of ten jobs."""

import tempfile
from pathlib import Path

# First: it makes ``import accasim`` work on Python 3.10 and later.
from accasim_adapter import CpschedDispatcher, CpschedPredictor, read_schedule
from cpsched import load_system, verify

from accasim.base.simulator_class import Simulator  # isort: skip

SYSTEM = '{"groups": {"node": {"core": 4}}, "resources": {"node": 2}}'
#: Submit, runtime, processors, requested time, user.
JOBS = [
    (100, 50, 6, 100, 1), (100, 60, 4, 100, 2), (110, 10, 1, 30, 1), (115, 20, 8, 60, 3),
    (120, 30, 2, 40, 1), (300, 40, 8, 100, 2), (305, 5, 1, 30, 1), (306, 5, 1, 30, 1),
    (310, 70, 4, 90, 3), (320, 10, 2, 20, 2),
]  # fmt: skip

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "system.json").write_text(SYSTEM)
        (folder / "log.swf").write_text(
            "".join(
                f"{job} {submit} -1 {run} {units} -1 -1 {units} {requested} -1 1 {user}"
                " -1 -1 -1 -1 -1 -1\n"
                for job, (submit, run, units, requested, user) in enumerate(JOBS, start=1)
            )
        )
        simulator = Simulator(
            str(folder / "log.swf"),
            str(folder / "system.json"),
            CpschedDispatcher("easy-wsept"),
            additional_data=[CpschedPredictor("last:count=2")],
            statistics_output=False,
            show_statistics=False,
            RESULTS_FOLDER_PATH=name,
        )
        simulator.start_simulation()
        run = read_schedule(folder / "sched-log.swf", load_system(folder / "system.json"))
    jobs = run.schedule.workload.job_id.tolist()
    print("starts:", dict(zip(jobs, run.schedule.start.tolist(), strict=True)))
    print("problems:", verify(run.schedule))
