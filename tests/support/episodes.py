"""A busy pool, and policies played on it."""

import numpy as np
from tiny import jobs, machine

from cpsched.gym.environment import BatchScheduling
from cpsched.gym.features import ESTIMATE, FEATURES
from cpsched.gym.options import Options
from cpsched.gym.policy import PolicyNetwork, save

POOL = machine((16,))


def drawn(seed, num=120):
    """Return jobs of a busy pool of 16 cores, some of which run longer than they asked for."""
    rng = np.random.default_rng(seed)
    submit = np.cumsum(rng.integers(0, 40, num))
    units = np.minimum(2 ** rng.integers(0, 5, num) + rng.integers(0, 2, num), 16)
    runtime = np.exp(rng.normal(4.0, 1.5, num)).astype(int)
    asked = (runtime * rng.uniform(0.5, 3.0, num)).astype(int) + 1
    return jobs(*zip(*(column.tolist() for column in (submit, units, runtime, asked)), strict=True))


def env_of(workload, system=POOL, **decides):
    """Return an environment whose window is the whole workload."""
    return BatchScheduling(workload, system, **{"length": len(workload), **decides})


def played(env, choose, first=0):
    """Play one episode; return its starts, the sum of its rewards, and the measure."""
    rows, _ = env.reset(seed=1, options={"first": first})
    total, done = 0.0, False
    while not done:
        rows, reward, done, _, info = env.step(choose(rows, env.action_masks()))
        total += reward
    return env.starts.tolist(), total, info["measure"]


def shortest_policy(path, **decides):
    """Save a policy that takes the shortest job, and return its options and specification."""
    options = Options(**decides)
    weights = np.zeros((len(FEATURES), 1), dtype=np.float32)
    weights[ESTIMATE] = -1
    save(path, PolicyNetwork(options, [(weights, np.zeros(1, dtype=np.float32))]))
    return f"learned:file={path}"
