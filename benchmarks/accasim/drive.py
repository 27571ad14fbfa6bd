"""
Run AccaSim 1.1.3 with FIFO and FirstFit, in a process that imports nothing else.

AccaSim takes classes from ``collections`` that have lived in ``collections.abc`` alone since
Python 3.10, so they are put back before it is imported. Nothing else of it is changed.
"""

import argparse
import collections
import collections.abc
import warnings

for name in collections.abc.__all__:
    if not hasattr(collections, name):
        setattr(collections, name, getattr(collections.abc, name))
warnings.simplefilter("ignore")  # its regular expressions have invalid escapes

from accasim.base.allocator_class import FirstFit  # noqa: E402
from accasim.base.scheduler_class import FirstInFirstOut  # noqa: E402
from accasim.base.simulator_class import Simulator  # noqa: E402


def main() -> None:
    """Simulate one log and write the schedule, or nothing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("workload", help="plain SWF file")
    parser.add_argument("system", help="AccaSim's description of the machine, JSON")
    parser.add_argument("out", help="folder for its files")
    parser.add_argument("--no-schedule", action="store_true", help="write no schedule file")
    args = parser.parse_args()
    simulator = Simulator(
        args.workload,
        args.system,
        FirstInFirstOut(FirstFit()),
        scheduling_output=not args.no_schedule,
        statistics_output=False,
        show_statistics=False,
        RESULTS_FOLDER_PATH=args.out,
    )
    simulator.start_simulation()


if __name__ == "__main__":
    main()
