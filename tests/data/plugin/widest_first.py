"""A dispatcher and a predictor of somebody else."""

import numpy as np

from cpsched.api import Dispatcher, Prediction, RuntimePredictor, make_allocator, start_by


class WidestFirst(Dispatcher):
    """Start the jobs with the most units first; skip what does not fit."""

    name = "widest-first"

    def __init__(self, allocator: str = "first-fit") -> None:
        self.allocator = make_allocator(allocator)

    def reset(self, system, seed):
        self.allocator.reset(system)

    def decide(self, view):
        return start_by(view, (-view.waiting.units).argsort(kind="stable"), self.allocator)


class Half(RuntimePredictor):
    """Half of what was asked for."""

    name = "half"

    def predict(self, jobs, now):
        return Prediction.point(np.maximum(jobs.requested_time // 2, 1))
