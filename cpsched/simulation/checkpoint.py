"""
A simulation's state as arrays: a killed one goes on from there to the identical result.

Nothing is pickled. Strings, shapes and everything else that follows from the workload is rebuilt
from it; a checkpoint only fits the run it was taken of, and says so otherwise.
"""

from __future__ import annotations

import json
import zipfile
from typing import TYPE_CHECKING, Any

import numpy as np

from cpsched.archive import flattened, unflattened
from cpsched.atomic_files import replacing
from cpsched.errors import RunError
from cpsched.model import columns as c
from cpsched.model.allocation import Allocation

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from cpsched.simulation.simulator import Simulator

#: Of the layout of checkpoints; others are refused.
FORMAT = 1
_SCALARS = (
    "now",
    "_next_submit",
    "_counter",
    "_pending",
    "_timer",
    "_timer_time",
    "_num_held",
)
_BY_JOB = ("start_time", "end_time", "outcome")


def capture(simulator: Simulator) -> dict[str, Any]:
    """
    Return everything a simulation needs to go on, as arrays, scalars and nested dicts of them.

    Observers that have a ``state`` method (the recorders) are included.
    """
    state, store = simulator.state, simulator.state.store
    running = state.running_rows()
    allocations = [_allocation(simulator, row) for row in running.tolist()]
    waits = [(job, row) for job, rows in simulator.dependents.items() for row in rows]
    return {
        "scalars": {name: int(getattr(simulator, name)) for name in _SCALARS},
        "jobs": {name: getattr(simulator, name) for name in _BY_JOB},
        "heap": np.array(simulator.events(), dtype=np.int64).reshape(-1, 4),
        "store": store.columns[: store.size],
        "queue": state.queued_rows(),
        "running": running,
        "node_count": np.array([len(held.node) for held in allocations], dtype=np.int64),
        "node": _joined([held.node for held in allocations], ()),
        "units": _joined([held.units for held in allocations], ()),
        "amount": _joined([held.amount for held in allocations], (len(store.resources),)),
        "cut": np.array(sorted(simulator.cut), dtype=np.int64),
        "dependents": np.array(waits, dtype=np.int64).reshape(-1, 2),
        "dispatcher": dict(simulator.dispatcher.state()),
        "predictor": dict(simulator.predictor.state()),
        "observers": {
            str(position): dict(observer.state())
            for position, observer in enumerate(simulator.observers)
            if hasattr(observer, "state")
        },
    }


def restore(simulator: Simulator, saved: Mapping[str, Any]) -> None:
    """
    Take up a state in a simulator just built for the same run.

    Raises
    ------
    RunError
        If the state is not one of this run.
    """
    jobs = saved["jobs"]
    if len(jobs["start_time"]) != len(simulator.arrivals):
        raise RunError(
            f"the checkpoint is of {len(jobs['start_time'])} jobs, this run has"
            f" {len(simulator.arrivals)}"
        )
    for name, value in saved["scalars"].items():
        setattr(simulator, name, value)
    simulator._pending = bool(saved["scalars"]["_pending"])
    for name in _BY_JOB:
        getattr(simulator, name)[:] = jobs[name]
    simulator.set_events([tuple(event) for event in saved["heap"].tolist()])
    state, store = simulator.state, simulator.state.store
    submitted = saved["scalars"]["_next_submit"]
    if submitted:
        simulator.arrivals.enter(store, 0, submitted)
        state.set_eligible(simulator.arrivals.eligible(store))
    store.writable[: store.size] = saved["store"]
    simulator.cut = set(saved["cut"].tolist())
    for job, row in saved["dependents"].tolist():
        simulator.dependents[job].append(row)
    end = 0
    for row, count in zip(saved["running"].tolist(), saved["node_count"].tolist(), strict=True):
        part = slice(end, end + count)
        end += count
        state.resume(
            row, Allocation(saved["node"][part], saved["units"][part], saved["amount"][part])
        )
    state.set_queue(saved["queue"])
    simulator.dispatcher.restore(saved["dispatcher"])
    simulator.predictor.restore(saved["predictor"])
    for position, observer_state in saved["observers"].items():
        simulator.observers[int(position)].restore(observer_state)  # type: ignore[attr-defined]


def write(path: Path, identity: str, saved: Mapping[str, Any]) -> None:
    """Write a captured state to a file, whole or not at all; ``identity`` names the run."""
    arrays, plain = flattened(saved)
    plain["/format"], plain["/identity"] = FORMAT, identity
    arrays["/plain"] = np.array(json.dumps(plain))
    with replacing(path) as partial, partial.open("wb") as file:
        np.savez(file, **arrays)


def read(path: Path, identity: str) -> dict[str, Any]:
    """
    Read a state back.

    Raises
    ------
    RunError
        If the file is damaged, of another format, or of another run.
    """
    if not zipfile.is_zipfile(path):
        raise RunError(f"{path} is not a checkpoint, or is damaged: it is no archive of arrays")
    try:
        # Opened here, because np.load leaves a file open when it does not understand it.
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        plain = json.loads(str(arrays.pop("/plain")))
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise RunError(f"{path} is not a checkpoint, or is damaged: {error}") from error
    if plain.pop("/format") != FORMAT:
        raise RunError(f"{path} is a checkpoint of another version of cpsched")
    if plain.pop("/identity") != identity:
        raise RunError(
            f"{path} is a checkpoint of another run (workload, system, dispatcher, predictor,"
            " settings or versions differ); remove it to start anew"
        )
    return unflattened({**arrays, **plain}, "dispatcher", "predictor", "observers")


def _allocation(simulator: Simulator, row: int) -> Allocation:
    columns = simulator.state.store.columns
    return simulator.state.arena.get(
        int(columns[row, c.ALLOC_FIRST]), int(columns[row, c.ALLOC_COUNT])
    )


def _joined(parts: list[Any], shape: tuple[int, ...]) -> Any:
    return np.concatenate(parts) if parts else np.zeros((0, *shape), dtype=np.int64)
