"""Small machines and logs for schedulers of Batsim."""

import numpy as np

import cpsched


def machine(nodes=16, text="core = 1"):
    """Return a machine of equal nodes."""
    kinds = [part.split("=")[0].strip() for part in text.split(",")]
    lines = "\n".join(part.strip() for part in text.split(","))
    return cpsched.parse_system(
        f"resources = {kinds!r}\n[[nodes]]\ngroup = 'n'\ncount = {nodes}\n{lines}\n"
    )


def jobs(rows, **columns):
    """Return a log of jobs: submit, runtime, requested time, units."""
    submit, runtime, requested, units = zip(*rows, strict=True)
    columns = {"request": [[1]] * len(rows), "resources": ("core",), **columns}
    return cpsched.Workload.build(
        title="jobs",
        job_id=[str(number) for number in range(len(rows))],
        submit=submit,
        runtime=runtime,
        requested_time=requested,
        units=units,
        **columns,
    )


def drawn(count=120, most=16, seed=7):
    """Return the rows of a log with bursts, queues, and runtimes of 0 and beyond the request."""
    rng = np.random.default_rng(seed)
    submit = np.cumsum(rng.integers(0, 60, count) * rng.integers(0, 2, count))
    requested = rng.integers(10, 400, count)
    runtime = (requested * rng.uniform(0, 1.1, count)).astype(int) * (rng.random(count) > 0.03)
    units = np.minimum(2 ** rng.integers(0, 4, count) + rng.integers(0, 3, count), most)
    columns = (submit, runtime, requested, units)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def starts(log, system, dispatcher, **settings):
    """Return the start of every job."""
    made = cpsched.Settings(**settings) if settings else None
    return cpsched.simulate(
        log, system, dispatcher=dispatcher, settings=made
    ).schedule.start.tolist()
