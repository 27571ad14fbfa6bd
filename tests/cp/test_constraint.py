"""Rules of a site in words, and that no schedule breaks them."""

from types import SimpleNamespace

import numpy as np
import pytest
from tiny import jobs, machine, run

from cpsched.cp.constraint import caps_of
from cpsched.errors import ConfigError
from cpsched.util.spec import build
from cpsched.verification import verify

NODES = machine((6, 2), (4, 0), (2, 1), resources=("core", "gpu"))


def workload(seed):
    """Sixty jobs of three users in two queues; some with GPUs, some without a user."""
    rng = np.random.default_rng(seed)
    runtime = rng.integers(1, 60, 60)
    columns = [np.sort(rng.integers(0, 300, 60)), rng.integers(1, 4, 60), runtime]
    slack = rng.integers(0, 60, 60)
    request = np.stack([np.ones(60, dtype=np.int64), np.arange(60) % 4 == 0], axis=1)
    request[request[:, 1] > 0, 0] = 2
    columns[1][request[:, 1] > 0] = 1
    return jobs(
        *np.stack([*columns, runtime + slack], axis=1).tolist(),
        resources=("core", "gpu"),
        request=request,
        user=[None if job % 7 == 0 else f"u{job % 3}" for job in range(60)],
        queue=[("debug", "long")[job % 2] for job in range(60)],
    )


def most_at_once(schedule, amount, among):
    """Return the most that some jobs have at any second, counted start by start."""
    start, end = schedule.start, schedule.end
    return max(
        amount[among & (start <= second) & (second < end)].sum() for second in start[among].tolist()
    )


@pytest.mark.parametrize("fill", ["easy", "any", "none"])
@pytest.mark.parametrize("seed", [1, 2])
def test_no_rule_is_broken(fill, seed):
    """Three rules at once; without them each is."""
    rules = "core per user at most 5 and jobs of queue debug at most 2 and core + 4*gpu at most 13"
    log = workload(seed)
    users, queues = np.array(log.user.decode()), np.array(log.queue.decode())
    core, gpu = log.units * log.request[:, 0], log.units * log.request[:, 1]

    def counted(dispatcher):
        schedule = run(log, NODES, dispatcher).schedule
        assert (schedule.start >= 0).all()
        assert verify(schedule) == []
        every = np.ones(60, dtype=np.bool_)
        return (
            max(most_at_once(schedule, core, users == user) for user in ("u0", "u1", "u2")),
            most_at_once(schedule, np.ones(60), queues == "debug"),
            most_at_once(schedule, core + 4 * gpu, every),
        )

    peaks = counted(f"cp-pool:fill={fill},constraint={rules}")
    free = counted(f"cp-pool:fill={fill}")
    assert (np.array(peaks) <= (5, 2, 13)).all()
    assert (np.array(free) > (5, 2, 13)).all()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("core at most", "'core at most' is not a rule such as 'core per user at most 64'"),
        ("core < 5", "is not a rule"),
        ("core per user at most -1", "is not a rule"),
        ("core - gpu at most 5", "is not a rule"),
        ("core at most 5 and", "'' is not a rule"),
        ("core per moon at most 5", "unknown label 'moon'. Labels: queue, user, name, group"),
    ],
)
def test_what_is_no_rule(text, message):
    with pytest.raises(ConfigError, match=f"^constraint: .*{message}"):
        caps_of(text)


def test_what_a_rule_cannot_count_or_no_job_can_keep():
    """Said before the first job, and when the job comes, rather than never."""
    with pytest.raises(
        ConfigError, match="'mic at most 5': unknown resource type 'mic'. Types: core"
    ):
        build("dispatchers", "cp-pool:constraint=mic at most 5").reset(NODES, 0)
    night = machine((4, 0), resources=("core", "gpu"), queues=(SimpleNamespace(name="night"),))
    with pytest.raises(
        ConfigError, match="unknown queue 'nigth'. Queues: night. Did you mean 'night'"
    ):
        build("dispatchers", "cp-pool:constraint=jobs of queue nigth at most 5").reset(night, 0)
    message = (
        "^rule 'core per queue at most 2': the job submitted at second 18 asks for 3, more than 2"
    )
    with pytest.raises(ConfigError, match=message):
        run(workload(1), NODES, "cp-pool:constraint=core per queue at most 2")


def test_a_value_that_no_job_has_caps_nothing():
    capped = run(workload(1), NODES, "cp-pool:constraint=jobs of queue night at most 0").schedule
    assert capped.start.tolist() == run(workload(1), NODES, "cp-pool").schedule.start.tolist()
