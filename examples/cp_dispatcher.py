"""A constraint programming dispatcher that limits the cores that each user has in use."""

import numpy as np

from cpsched import Workload, parse_system, simulate
from cpsched.cp.cp_pool import CpPool
from cpsched.cp.objective import Objective
from cpsched.cp.pool import Limit
from cpsched.dispatch.pooled import given_back, pooled_demand


class CoreSeconds(Objective):
    """The wait of each job divided by its size: waits of small jobs cost most."""

    name = "core-seconds"

    def divisors(self, jobs, now):
        return np.maximum(jobs.runtime_estimate * jobs.units, 1)


class CappedUsers(CpPool):
    """CP-SAT on pooled capacity, with a limit on the cores that a user has allocated."""

    name = "capped-users"

    def __init__(self, cap: int = 64, search: str = "slowdown", allocator: str = "first-fit"):
        super().__init__(search, CoreSeconds(), allocator=allocator)
        self.cap = cap

    def own_limits(self, view, jobs):
        core = view.system.resources.index("core")
        asked = pooled_demand(view, jobs, self.allocator)[:, core]
        allocated = given_back(view)[:, core]
        waiting, running = (np.array(table.strings("user")) for table in (jobs, view.running))
        return [
            Limit(asked * (waiting == user), allocated * (running == user), self.cap)
            for user in sorted(set(waiting), key=str)
        ]


if __name__ == "__main__":
    SYSTEM = 'name = "eight"\nresources = ["core"]\n[[nodes]]\ngroup = "all"\ncount = 2\ncore = 4\n'
    names, users = list("ABCDE"), ["ann", "ann", "ann", "bob", "bob"]
    amounts = {"units": [3, 3, 1, 2, 4], "runtime": [9, 8, 5, 4, 2], "requested_time": [9] * 5}
    jobs = {"job_id": names, "submit": [0] * 5, "user": users, "resources": ["core"]}
    workload = Workload.build(title="five jobs", request=[[1]] * 5, **jobs, **amounts)
    for dispatcher in (CappedUsers(cap=4), "cph-3"):
        run = simulate(workload, parse_system(SYSTEM, where="example"), dispatcher=dispatcher)
        starts = dict(zip(names, run.schedule.start.tolist(), strict=True))
        print(getattr(dispatcher, "name", dispatcher), starts)
