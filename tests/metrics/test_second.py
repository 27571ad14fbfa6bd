"""Every measure of a schedule a second time: loops over jobs and seconds, from their definitions."""

import math

import numpy as np
import pytest
from sized import M, R, sized_jobs
from tiny import jobs, machine, run

from cpsched.metrics.summary import summarize
from cpsched.model.schedule import JobOutcome
from cpsched.util.types import MISSING

#: Measured by hand elsewhere (test_placement, test_lost), or no measure.
ELSEWHERE = {
    *("counts", "outcomes", "overrun", "offered_load", "placement", "lost", "restarts"),
    *("recorded_wait_s", "recorded_use"),
}


def quantile(values, q):
    """Interpolate linearly between the values around a share of them."""
    ordered, at = sorted(values), q * (len(values) - 1)
    low, high = ordered[math.floor(at)], ordered[math.ceil(at)]
    return low + (high - low) * (at - math.floor(at))


def measured(values):
    names = ("median", "p95", "p99", "p99.9")
    if not values:
        return {"jobs": 0, **dict.fromkeys(("mean", *names, "max"))}
    shares = dict(zip(names, (0.5, 0.95, 0.99, 0.999), strict=True))
    quantiles = {name: quantile(values, q) for name, q in shares.items()}
    return {"jobs": len(values), "mean": sum(values) / len(values), **quantiles, "max": max(values)}


class Second:
    """The jobs of a schedule as tuples, and what they hold at each second."""

    def __init__(self, schedule):
        self.workload, self.system = schedule.workload, schedule.system
        self.start, self.end = schedule.start.tolist(), schedule.end.tolist()
        self.submit = self.workload.submit.tolist()
        accepted = [at for at in range(len(self.submit)) if at not in schedule.rejected]
        ended = (JobOutcome.COMPLETED, JobOutcome.TIMEOUT)
        self.jobs = [at for at in accepted if schedule.outcome[at] in ended]
        self.accepted = accepted
        self.begin, self.stop = (min(self.submit[at] for at in accepted), max(self.end))
        own = schedule.segments
        self.held = list(
            zip(*(getattr(own, name).tolist() for name in ("job", "start", "end", "count", "units", "amount")),
                strict=True)
        )  # fmt: skip
        self.runtime = {at: self._runtime(at) for at in self.jobs}

    def _runtime(self, at):
        own = [
            (begin, end, units * count)
            for job, begin, end, count, units, _ in self.held
            if job == at
        ]
        once = len({span[:2] for span in own}) == 1
        if once and sum(units for *_, units in own) == self.workload.units[at]:
            return self.end[at] - self.start[at]
        return min(int(self.workload.runtime[at]), int(self.workload.requested_time[at]))

    def width(self, at):
        return int(self.workload.units[at] * self.workload.request[at, 0])

    def use(self, second, kind=0):
        return sum(c * amount[kind] for _, b, e, c, _, amount in self.held if b <= second < e)

    def waiting(self, second):
        return [at for at in self.accepted if self.submit[at] <= second < self.start[at]]

    def values(self):
        wait = {at: self.start[at] - self.submit[at] for at in self.jobs}
        response = {at: self.end[at] - self.submit[at] for at in self.jobs}
        # A runtime of 0 counts as a second, in the response too.
        none = {at: not self.runtime[at] for at in self.jobs}
        slow = {at: (response[at] + none[at]) / (self.runtime[at] + none[at]) for at in self.jobs}
        bounded = {at: max(1.0, response[at] / max(self.runtime[at], 10)) for at in self.jobs}
        return {
            "wait_s": wait,
            "turnaround_s": response,
            "slowdown": slow,
            "bounded_slowdown": bounded,
        }

    def groups(self, steady):
        hours = {at: self.runtime[at] / 3600 for at in self.jobs}
        members = {
            "all": self.jobs,
            "short": [at for at in self.jobs if hours[at] <= 1],
            "medium": [at for at in self.jobs if 1 < hours[at] <= 12],
            "long": [at for at in self.jobs if hours[at] > 12],
        }
        if steady:
            begin, end = steady
            members["steady"] = [at for at in self.jobs if begin <= self.submit[at] < end]
        return members

    def summary(self, steady):
        values, span = self.values(), range(self.begin, self.stop)
        wait, response = values["wait_s"], values["turnaround_s"]
        cores, nodes = int(self.system.total[0]), self.system.num_nodes
        held = [self.use(second) for second in span]
        queue = [len(self.waiting(second)) for second in span]
        area = {at: self.width(at) * self.runtime[at] for at in self.jobs}
        users = sorted(set(self.workload.user.decode()))
        jobs_of_user = {
            u: [at for at in self.jobs if self.workload.user.decode()[at] == u] for u in users
        }
        means = [sum(wait[at] for at in own) / len(own) for own in jobs_of_user.values()]
        slow = [
            sum(values["bounded_slowdown"][at] for at in own) / len(own)
            for own in jobs_of_user.values()
        ]
        node_time = sum(count * (end - start) for _, start, end, count, *_ in self.held)
        share = {at: self.width(at) / cores for at in self.jobs}
        limits = {"small": 0.02, "midsize": 0.1, "large": 0.5, "huge": math.inf}
        sizes = {name: [] for name in ("serial", *limits)}
        for at in self.jobs:
            fits = (name for name, most in limits.items() if share[at] <= most)
            sizes["serial" if self.width(at) == 1 else next(fits)].append(wait[at])
        idle = [cores - busy for busy, waits in zip(held, queue, strict=True) if waits]
        groups = self.groups(steady)
        return {
            "window_s": [self.begin, self.stop],
            "makespan_s": len(span),
            "throughput_jobs_per_hour": len(self.jobs) / (len(span) / 3600),
            "utilization": {"core": sum(held) / (cores * len(span))},
            "steady_utilization": steady and {
                "core": sum(self.use(s) for s in range(*steady)) / (cores * (steady[1] - steady[0]))
            },
            "node_utilization": node_time / (nodes * len(span)),
            "loss_of_capacity": {"core": sum(idle) / (cores * len(span))},
            "queue_jobs": {
                "mean": sum(queue) / len(queue), "max": max(queue),
                **{name: sorted(queue)[math.ceil(q * len(queue)) - 1]
                   for name, q in (("median", 0.5), ("p95", 0.95), ("p99", 0.99))},
            },
            **{name: {group: measured([by_job[at] for at in members])
                      for group, members in groups.items()} for name, by_job in values.items()},
            "wait_by_size_s": {name: measured(own) for name, own in sizes.items()},
            "wait_by_user_s": {
                "users": len(users), "mean": sum(means) / len(means), "max": max(means),
                "median": quantile(means, 0.5), "p95": quantile(means, 0.95),
            },
            "fairness_by_user": sum(slow) ** 2 / (len(slow) * sum(x * x for x in slow)),
            "response_by_area_s": sum(area[at] * response[at] for at in self.jobs)
            / sum(area.values()),
            "never_waited": sum(not seconds for seconds in wait.values()) / len(wait),
        }  # fmt: skip


def rigid(rng, num=120):
    """Return jobs of a few seconds to minutes, some of which end at their requested time."""
    rows = [
        (int(rng.integers(900)), int(rng.integers(1, 9)), run_for, int(run_for * rng.choice([0.5, 1, 3])) + 1)
        for run_for in rng.integers(0, 90, num).tolist()
    ]  # fmt: skip
    return sorted(rows), rng.choice(["ann", "bob", "eve"], num).tolist()


def schedules():
    """Yield a rigid schedule, one with jobs that change size, and one with jobs started again."""
    rng = np.random.default_rng(5)
    rows, users = rigid(rng)
    nodes = machine((4,), (4,), (2,), (2,))
    yield "rigid", run(jobs(*rows, user=users), nodes, "easy").schedule
    times = [((*row[:3], row[2] * 4 + 9), 1, row[1] + 3, M if at % 2 else R) for at, row in enumerate(rows)]  # fmt: skip
    own = [((at, size, length, asked), least if kind == M else size, most if kind == M else size, kind)
           for (at, size, length, asked), least, most, kind in times]  # fmt: skip
    yield "malleable", run(sized_jobs(*own, user=users), nodes, "malleable").schedule
    log = jobs(*rows, user=users, restartable=[True] * len(rows))
    yield (
        "restarted",
        run(log, nodes, "easy", outages="during:nodes=n[0-1],start=300,end=340").schedule,
    )


@pytest.mark.parametrize(
    ("name", "schedule"),
    list(schedules()),
    ids=lambda parameter: parameter if isinstance(parameter, str) else "",
)
def test_every_measure_comes_out_the_same_a_second_time(name, schedule):
    summary = summarize(schedule)
    steady = summary["steady_window_s"]
    second = Second(schedule).summary(steady)
    assert set(summary) - ELSEWHERE - {"steady_window_s", "goodput"} == set(second)
    assert (schedule.start[schedule.outcome == JobOutcome.COMPLETED] != MISSING).all()
    assert (summary["restarts"]["starts_cut_short"] > 0) == (name == "restarted")
    if name == "malleable":
        assert len({tuple(x[3:5]) for x in Second(schedule).held}) > 3
    for key, value in second.items():
        assert summary[key] == approx(value), key


def approx(value):
    if isinstance(value, dict):
        return {key: approx(item) for key, item in value.items()}
    if isinstance(value, list) or value is None:
        return value
    return pytest.approx(value, rel=1e-12)
