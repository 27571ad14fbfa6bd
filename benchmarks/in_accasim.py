"""
The same dispatcher in AccaSim and in our simulator: starts job by job, cost, memory; the adapter.

``compare``: HPC2N (its first jobs, read by AccaSim itself) and Eurora (GPUs, MICs, memory; handed
over by the adapter) under seven dispatchers, each simulation a process of its own. Nobody is killed
at the requested time. ``overhead``: what the adapter costs beside the dispatcher's own time, at
decisions with about 100 waiting jobs on the 64 nodes of Eurora.

AccaSim must be installed beside cpsched: ``pip install 'cpsched[accasim]'``.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import against_accasim
import measure

DISPATCHERS = ("fifo", "sjf", "greedy", "easy", "conservative", "cph-0", "easy-wsept")
LOGS = {"hpc2n": "HPC2N-2002-2.2-cln.swf.gz", "eurora": "eurora-2014.ext.csv.gz"}
#: Waiting jobs of the decisions that are looked at, and decisions left out to warm up.
WAITING, WARM_UP = range(80, 121), 20


def simulate(side: str, log: str, dispatcher: str, jobs: int, traces: Path, work: Path) -> None:
    """Run one simulation in this process; print starts, seconds of CPU and peak memory."""
    import gc
    import resource
    import time

    from cpsched import logs, systems
    from cpsched.checks.sample import sample
    from cpsched.simulation.simulate import Settings
    from cpsched.simulation.simulate import simulate as run
    from cpsched.util.types import MISSING

    # What loads at the first run is in neither side's time.
    run(sample(), dispatcher=dispatcher)
    machine = str(measure.HERE / "accasim" / "hpc2n.json") if log == "hpc2n" else "eurora"
    path = work / "hpc2n.swf" if log == "hpc2n" else traces / LOGS[log]
    system = systems.load(machine)
    starts: dict[str, int] = {}
    if side == "ours":
        workload = logs.read(path).select(first=jobs)
        settings = Settings(overrun="extend", enforce_time_limits=False)
        gc.freeze()
        before = time.process_time()
        schedule = run(workload, system, dispatcher=dispatcher, settings=settings).schedule
        seconds = time.process_time() - before
        jobs_of = schedule.workload.job_id.tolist()
        starts |= zip(jobs_of, schedule.start.tolist(), strict=True)
    else:
        import accasim_adapter
        from accasim_adapter.additional import Hooks

        class Starts(Hooks):  # type: ignore[misc]
            """Notes the starts of jobs that have ended."""

            def exec_after_completion(self, removed_jobs: list[Any]) -> None:
                starts.update({job.id: job.start_time for job in removed_jobs})

        made = accasim_adapter.CpschedDispatcher(
            dispatcher, system=None if log == "hpc2n" else machine
        )
        more: dict[str, Any] = {
            "additional_data": [Starts()],
            "scheduling_output": False,
            "statistics_output": False,
            "show_statistics": False,
            "LOG_LEVEL": "ERROR",
        }
        if log == "hpc2n":
            from accasim.base.simulator_class import Simulator

            simulator = Simulator(str(path), machine, made, RESULTS_FOLDER_PATH=str(work), **more)
        else:
            workload = logs.read(path).select(first=jobs)
            simulator = accasim_adapter.simulator(
                workload, system, dispatcher=made, out=work, **more
            )
        gc.freeze()
        before = time.process_time()
        simulator.start_simulation()
        seconds = time.process_time() - before
    print(
        json.dumps(
            {
                "starts": {job: start for job, start in starts.items() if start != MISSING},
                "seconds": seconds,
                "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            }
        )
    )


def compare(args: argparse.Namespace, work: Path) -> list[dict[str, Any]]:
    """Simulate every log under every dispatcher on both sides."""
    rows = []
    for log in args.logs:
        for name in args.dispatchers:
            sides = {}
            for side in ("ours", "theirs"):
                own = [sys.executable, __file__, "one", side, log, name, str(args.jobs)]
                sides[side] = measure.answer([*own, args.traces, work], {"TZ": "UTC"})
            ours, theirs = (sides[side].pop("starts") for side in ("ours", "theirs"))
            wrong = [job for job in ours | theirs if ours.get(job) != theirs.get(job)]
            rows.append(
                {
                    "log": log,
                    "dispatcher": name,
                    "jobs": len(ours),
                    "different": wrong,
                    **{f"{side} {key}": sides[side][key] for side in sides for key in sides[side]},
                }
            )
            last = rows[-1]
            print(f"{log} {name}: {len(wrong)} of {len(ours)} differ", file=sys.stderr)
            assert last["jobs"]
    return rows


def overhead(dispatcher: str, traces: Path, work: Path) -> None:
    """Run Eurora in AccaSim; print the CPU time of decisions and of the adapter around them."""
    import gc
    from statistics import mean, median
    from time import process_time

    import accasim_adapter
    from cpsched import logs, systems

    took: list[tuple[int, float, float]] = []
    inside = [0.0]

    class Timed(accasim_adapter.CpschedDispatcher):  # type: ignore[misc, valid-type]
        def scheduling_method(self, cur_time: int, jobs: Any, es_dict: Any) -> Any:
            inside[0] = 0.0
            before = process_time()
            answer = super().scheduling_method(cur_time, jobs, es_dict)
            took.append((len(jobs), process_time() - before, inside[0]))
            return answer

    made = Timed(dispatcher, system="eurora")
    simulator = accasim_adapter.simulator(
        logs.read(traces / LOGS["eurora"]), systems.load("eurora"), dispatcher=made, out=work,
        scheduling_output=False, statistics_output=False, show_statistics=False, LOG_LEVEL="ERROR",
    )  # fmt: skip
    real = made.cluster.dispatcher.decide

    def decide(view: Any) -> Any:
        before = process_time()
        decision = real(view)
        inside[0] += process_time() - before
        return decision

    made.cluster.dispatcher.decide = decide
    # Cycles are looked for wherever an object is made, here or there: neither side is charged.
    gc.disable()
    simulator.start_simulation()
    times = [(all_, own) for num, all_, own in took if num in WAITING and own][WARM_UP:]
    print(
        json.dumps(
            {
                "decisions": len(times),
                "dispatcher_us": 1e6 * median(own for _, own in times),
                "adapter_us": 1e6 * median(all_ - own for all_, own in times),
                "dispatcher_mean_us": 1e6 * mean(own for _, own in times),
                "adapter_mean_us": 1e6 * mean(all_ - own for all_, own in times),
            }
        )
    )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("compare", "overhead"))
    parser.add_argument("--traces", type=Path, required=True, help="folder with the logs")
    parser.add_argument("--jobs", type=int, default=5000, help="of HPC2N; Eurora is taken whole")
    parser.add_argument("--logs", nargs="+", choices=LOGS, default=list(LOGS))
    parser.add_argument("--dispatchers", nargs="+", default=list(DISPATCHERS))
    parser.add_argument("--json", type=Path, help="file for every single figure")
    return parser.parse_args()


def main() -> None:
    if sys.argv[1:2] == ["one"]:
        side, log, name, jobs, traces, work = sys.argv[2:]
        count = int(jobs) if log == "hpc2n" else sys.maxsize
        simulate(side, log, name, count, Path(traces), Path(work))
        return
    if sys.argv[1:2] == ["cost"]:
        overhead(sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4]))
        return
    args = arguments()
    for log in args.logs if args.what == "compare" else ["eurora"]:
        measure.archive_log(args.traces, LOGS[log])
    with tempfile.TemporaryDirectory(prefix="cpsched-bench-") as folder:
        work = Path(folder)
        if args.what == "compare":
            hpc2n = args.traces / LOGS["hpc2n"]
            against_accasim.prepare(hpc2n, args.jobs, work / "hpc2n.swf", capped=False)
            rows = compare(args, work)
            report(rows)
        else:
            rows = [
                {
                    "dispatcher": name,
                    **measure.answer([sys.executable, __file__, "cost", name, args.traces, work]),
                }
                for name in args.dispatchers
            ]
            report_overhead(rows)
    measure.save(args.json, {"rows": rows})
    if any(row.get("different") for row in rows):
        raise measure.BenchmarkError("schedules differ")


def report(rows: list[dict[str, Any]]) -> None:
    """Print starts that differ, jobs a second and memory."""
    columns = ("log", "dispatcher", "jobs", "other starts", "cpsched jobs/s", "AccaSim jobs/s",
               "cpsched CPU s", "AccaSim CPU s", "cpsched MiB", "AccaSim MiB")  # fmt: skip
    measure.table(
        "The same dispatcher in both simulators",
        columns,
        [
            (
                row["log"],
                row["dispatcher"],
                row["jobs"],
                len(row["different"]),
                round(row["jobs"] / row["ours seconds"]),
                round(row["jobs"] / row["theirs seconds"]),
                row["ours seconds"],
                row["theirs seconds"],
                row["ours peak"],
                row["theirs peak"],
            )
            for row in rows
        ],
    )


def report_overhead(rows: list[dict[str, Any]]) -> None:
    """Print microseconds of a decision and of the adapter around it."""
    measure.table(
        "What the adapter costs beside a decision",
        ("dispatcher", "decisions", "decision us", "adapter us", "share %", "share of means %"),
        [
            (
                row["dispatcher"],
                row["decisions"],
                row["dispatcher_us"],
                row["adapter_us"],
                100 * row["adapter_us"] / row["dispatcher_us"],
                100 * row["adapter_mean_us"] / row["dispatcher_mean_us"],
            )
            for row in rows
        ],
    )


if __name__ == "__main__":
    main()
