"""
The view holds no future.

Whatever a dispatcher or predictor is shown up to an instant must be the same in two worlds that
differ only in what is not known then: runtimes and statuses of jobs that have not ended, and
every job that has not been submitted.
"""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tiny import CLASSES, machine, machines, run, workloads

from cpsched.model.workload import Workload
from cpsched.simulation.observers import Observer
from cpsched.systems.mapping import fit
from cpsched.util import registry
from cpsched.util.spec import build
from cpsched.util.types import MISSING, Status

pytestmark = pytest.mark.slow

#: ``actual`` is given the truth on purpose.
PREDICTORS = tuple(name for name in registry.names("predictors") if name != "actual")
#: So few completions are enough for a model that these small workloads see some.
SMALL = {name: f"{name}:start=2,window=8,trees=2" for name in ("gbm-log", "gbm-quantile")}


class Transcript(Observer):
    """Writes down everything shown and answered up to an instant, inclusive."""

    def __init__(self, until):
        self.until = until
        self.lines = []

    def on_decision(self, view, decision, seconds):
        if view.now > self.until:
            return
        tables = [
            [
                table.store.columns[table.rows].tolist(),
                table.request.tolist(),
                table.eligible_class.tolist(),
                *(str(known) for known in (table.runtime_quantiles, table.ends_within)),
                *(table.strings(label) for label in ("queue", "user", "name", "group")),
            ]
            for table in (view.waiting, view.running)
        ]
        known = {label: list(values) for label, values in view.waiting.store.labels.items()}
        actions = [
            (action.handle, *(part.tolist() for part in action.allocation))
            for action in decision.actions
        ]
        plan = decision.planned_starts and (
            list(decision.planned_starts.handle),
            list(decision.planned_starts.start),
        )
        self.lines.append(
            (view.now, tables, known, view.waiting.store.size, view.waiting.store.shapes.tolist(),
             view.free.tolist(), view.eligible.tolist(), actions, plan, decision.again_at,
             dict(decision.stats))
        )  # fmt: skip


def other_future(workload, schedule, until, rng, longer=1):
    """Return the workload as it could have been, for all that was known at ``until``."""
    past = np.flatnonzero(workload.submit <= until)
    ended = (schedule.end != MISSING) & (schedule.end <= until)
    runtime = workload.runtime.copy()
    for row in past[~ended[past]]:
        started = schedule.start[row]
        # A job that runs at ``until`` ran past it in this world too, and so it must in the other.
        least = until - started + 1 if started != MISSING and started <= until else 0
        runtime[row] = longer * least + rng.integers(0, 50)
    status = np.where(ended, workload.status, rng.choice([Status.FAILED, Status.CANCELLED]))
    changed = workload.with_columns(
        runtime=runtime, status=status, recorded_start=rng.integers(0, 99, len(workload))
    ).take(past)
    extra = int(rng.integers(0, 5))
    columns = ("units", "requested_time", "nodes_min", "nodes_max", "split", "contiguous")
    joined = {
        name: np.concatenate([getattr(changed, name), getattr(changed, name)[:1].repeat(extra)])
        for name in (*columns, "exclusive")
    }
    return Workload.build(
        title="other",
        job_id=[*changed.job_id, *(f"new{index}" for index in range(extra))],
        submit=[*changed.submit, *(until + 1 + rng.integers(0, 9, extra))],
        runtime=[*changed.runtime, *rng.integers(0, 9, extra)],
        request=np.concatenate([changed.request, rng.integers(0, 2, (extra, 3))]),
        per_node=np.concatenate([changed.per_node, np.zeros((extra, 3), dtype=np.int64)]),
        per_node_max=np.concatenate([changed.per_node_max, np.zeros((extra, 3), dtype=np.int64)]),
        resources=workload.resources,
        user=[*changed.user.decode(), *("stranger" for _ in range(extra))],
        status=[*changed.status, *([1] * extra)],
        **joined,
    )


def compare(dispatcher, predictor, workload, system, until, seed):
    """Simulate two worlds that are the same up to an instant, and compare what was shown."""
    assume(workload.submit[0] <= until)
    transcript = Transcript(until)
    schedule = run(workload, system, dispatcher, predictor, observers=[transcript]).schedule
    other = other_future(workload, schedule, until, np.random.default_rng(seed))
    other_transcript = Transcript(until)
    run(other, system, dispatcher, predictor, observers=[other_transcript])
    assert transcript.lines == other_transcript.lines


@given(
    dispatcher=st.sampled_from(["easy", "greedy:order=slowdown"]),
    workload=workloads(),
    system=machines(),
    until=st.integers(0, 40),
    seed=st.integers(0, 99),
)
@settings(max_examples=25)
@pytest.mark.parametrize("predictor", PREDICTORS)
def test_no_view_depends_on_the_future(dispatcher, predictor, workload, system, until, seed):
    """Nor do predictions and decisions: one dispatcher plans by predictions, the other ranks."""
    compare(dispatcher, SMALL.get(predictor, predictor), workload, system, until, seed)


def test_the_leak_test_can_fail():
    """The named upper bound, which knows the truth, is found out by the same comparison."""
    workload = Workload.build(
        title="two", job_id=["a", "b"], submit=[0, 1], runtime=[5, 5], requested_time=[50, 50],
        units=[1, 1], request=[[1, 0, 0]] * 2, resources=("core", "gpu", "mem"),
    )  # fmt: skip
    system = machine((1, 0, 8), resources=("core", "gpu", "mem"))
    transcript, other_transcript = Transcript(2), Transcript(2)
    schedule = run(workload, system, "fifo", "actual", observers=[transcript]).schedule
    other = other_future(workload, schedule, 2, np.random.default_rng(1))
    run(other, system, "fifo", "actual", observers=[other_transcript])
    assert transcript.lines != other_transcript.lines


@pytest.mark.parametrize(
    ("dispatcher", "predictor"),
    [
        ("easy", "last:count=2"),
        ("lookahead", "requested"),
        ("aucsched2:interval=none", "requested"),
    ],
)
@pytest.mark.parametrize("model", registry.names("runtime_models"))
def test_no_runtime_model_lets_the_future_through(model, dispatcher, predictor):
    """Also where ranges of GPUs make jobs faster, by a factor that is drawn, or neighbouring nodes."""
    rng = np.random.default_rng(5)
    num, kinds = 40, ("core", "gpu", "mem")
    gpus = np.zeros((num, 3), dtype=np.int64)
    gpus[:, 1] = rng.integers(0, 2, num)
    workload = Workload.build(
        title="ranges", job_id=[str(job) for job in range(num)],
        submit=np.sort(rng.integers(0, 150, num)), runtime=rng.integers(1, 60, num),
        requested_time=rng.integers(40, 90, num), units=rng.integers(1, 3, num),
        request=[[1, 0, 0]] * num, per_node=gpus, per_node_max=3 * gpus, resources=kinds,
        user=[f"u{job % 3}" for job in range(num)],
    )  # fmt: skip
    system = machine((3, 3, 4), (2, 4, 4), resources=kinds)
    for until in (20, 75, 140):
        transcript, other_transcript = Transcript(until), Transcript(until)
        # Two nodes are always neighbours: only with this does anything change.
        spec = "locality:log=scattered" if model == "locality" else model
        settings = {"runtime_model": spec, "seed": until}
        schedule = run(
            workload, system, dispatcher, predictor, observers=[transcript], **settings
        ).schedule
        # So long that no factor ends what runs at ``until`` earlier than its request does.
        other = other_future(workload, schedule, until, rng, longer=10**6)
        run(other, system, dispatcher, predictor, observers=[other_transcript], **settings)
        assert transcript.lines == other_transcript.lines
        assert transcript.lines
    scaled = (schedule.end - schedule.start) != np.minimum(
        workload.runtime, workload.requested_time
    )
    # Of rigid jobs the models of other sizes say what the log says.
    assert scaled.any() == (model in ("gpu-scaling", "locality"))


#: A runtime no other number in these tests equals.
SECRET = 987_654_321


def reachable_arrays(value, seen):
    """Yield every array that can be reached from an object by attributes, items and bases."""
    if id(value) in seen or isinstance(value, type | str | int | float):
        return
    seen[id(value)] = value
    if isinstance(value, np.ndarray):
        yield value
        children = [value.base] if value.base is not None else []
    elif isinstance(value, dict):
        children = [*value.keys(), *value.values()]
    elif isinstance(value, list | tuple | set | frozenset):
        children = list(value)
    elif type(value).__module__.startswith(("cpsched", "predictors")):
        slots = [name for cls in type(value).__mro__ for name in getattr(cls, "__slots__", ())]
        children = [
            getattr(value, name, None) for name in [*slots, *getattr(value, "__dict__", ())]
        ]
    else:
        children = []
    for child in children:
        yield from reachable_arrays(child, seen)


@pytest.mark.parametrize("dispatcher", CLASSES)
def test_no_array_reachable_from_a_view_holds_a_runtime(dispatcher):
    """Walk from view, dispatcher and predictor through attributes and array bases."""
    num = 6
    workload = Workload.build(
        title="secret", job_id=[str(index) for index in range(num)], submit=range(num),
        runtime=[SECRET] * num, requested_time=[7] * num, units=[1] * num,
        request=[[1, 0, 0]] * num, resources=("core", "gpu", "mem"),
        recorded_start=[SECRET] * num,
    )  # fmt: skip
    system = machine((2, 0, 8), resources=("core", "gpu", "mem"))
    fitted = fit(workload, system)
    decides = build("dispatchers", dispatcher)

    class Search(Observer):
        views = 0

        def on_decision(self, view, decision, seconds):
            self.views += 1
            for shown in (view, decides, decision):
                for array in reachable_arrays(shown, {}):
                    fields = array.dtype.names
                    columns = [array[field] for field in fields] if fields else [array]
                    assert not any((column == SECRET).any() for column in columns)

    search = Search()
    run(fitted, system, decides, observers=[search])
    assert search.views > num
