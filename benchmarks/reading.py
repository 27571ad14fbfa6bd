"""How fast Slurm's accounting is read and written: months of the generator ``site``."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING

from cpsched import logs
from cpsched.slurm.site import SITE, SiteOptions

if TYPE_CHECKING:
    from collections.abc import Callable


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, nargs="+", default=[100_000, 1_000_000])
    arguments = parser.parse_args()
    print("| jobs | | CPU s | us/job |\n|---:|:--|---:|---:|")
    for number in arguments.jobs:
        with tempfile.TemporaryDirectory() as folder:
            _measure(number, Path(folder) / "month.sacct")


def _measure(number: int, path: Path) -> None:
    options = SiteOptions(jobs=number, days=30 * number / 100_000)
    _report(number, "generated", lambda: SITE.generate(options))
    workload = SITE.generate(options)
    _report(number, "written", lambda: logs.write(workload, path))
    _report(number, f"read ({path.stat().st_size / 2**20:.0f} MB)", lambda: logs.read(path))


def _report(number: int, what: str, call: Callable[[], object]) -> None:
    before = process_time()
    call()
    seconds = process_time() - before
    print(f"| {number:,} | {what} | {seconds:.1f} | {1e6 * seconds / number:.1f} |", flush=True)


if __name__ == "__main__":
    main()
