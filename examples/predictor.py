"""A predictor of our own in ten lines, and a learned one: trained, saved, loaded, used."""

import tempfile
from pathlib import Path

import numpy as np

from cpsched import (
    Prediction,
    RuntimePredictor,
    fit,
    load_system,
    read_log,
    save_model,
    simulate,
    starts_of,
    summarize,
    train,
)
from cpsched.util import resources


class UserMean(RuntimePredictor):
    """The mean runtime of the user's jobs so far; the requested time if there are none."""

    name = "user-mean"

    def reset(self, system, seed):
        self.total = {}

    def observe(self, jobs, outcome, now):
        for user, runtime in zip(jobs.strings("user"), outcome.runtime.tolist(), strict=True):
            number, seconds = self.total.get(user, (0, 0))
            self.total[user] = (number + 1, seconds + runtime)

    def predict(self, jobs, now):
        known = [self.total.get(user, (0, 0)) for user in jobs.strings("user")]
        requested = jobs.requested_time.tolist()
        means = [s // n if n else most for (n, s), most in zip(known, requested, strict=True)]
        return Prediction.point(np.array(means, dtype=np.int64))


log = read_log(resources.path("logs", "eurora-sample.csv.gz"))
workload = log.select(first=1000)
system = load_system("eurora")
for predictor in ("requested", UserMean()):
    run = simulate(workload, system, dispatcher="greedy:order=slowdown", predictor=predictor)
    error = np.abs(run.schedule.runtime_estimate - workload.runtime).mean()
    slowdown = summarize(run.schedule)["bounded_slowdown"]["all"]["mean"]
    print(f"{run.predictor}: off by {error:.0f} s, mean bounded slowdown {slowdown:.2f}")

# Train on those jobs, keep the model in a file, and predict the next ones with it.
fitted = fit(workload, system)
with tempfile.TemporaryDirectory() as folder:
    model = Path(folder) / "gbm.model"
    spec = "gbm-log:start=300"
    save_model(model, train(fitted, starts_of(fitted), spec), fitted, spec)
    later = log.select(start=int(workload.submit[-1])).select(first=500)
    for predictor in ("requested", f"gbm-log:model={model}"):
        run = simulate(later, system, dispatcher="easy", predictor=predictor)
        error = np.abs(run.schedule.runtime_estimate - later.runtime).mean()
        name = predictor.partition(":")[0]
        print(f"later, {name}: off by more than an hour: {error > 3600}")
