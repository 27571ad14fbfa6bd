"""The shipped checks: every predictor passes them, and each of them can fail."""

from __future__ import annotations

import time
from enum import Enum
from functools import cache, partial
from typing import ClassVar

import numba
import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from cpsched.base import registry
from cpsched.base.spec import build
from cpsched.checks import CheckError
from cpsched.model import columns as c
from cpsched.model.prediction import Prediction, RuntimePredictor
from predictors import checks
from predictors.check_tools import sample
from predictors.checks import CHECKS, check_predictor
from predictors.estimator import from_estimator
from predictors.last import Last
from predictors.user_history import UserHistory

pytestmark = pytest.mark.slow

#: Models are so small that some are fitted within the 400 jobs of the checks.
SMALL = "trees=3,start=100,window=300,limit=150"
#: Options under which a predictor's memory is full after 1,000 jobs of as many users.
OPTIONS = {
    "requested": "",
    "last": "count=2,limit=500",
    "user-history": "limit=200,prefix=2,memory=yes",
    "user-history-plus": "limit=200",
    "jobs-alike": "limit=200",
    "gbm-log": SMALL,
    "gbm-quantile": SMALL,
}
MAKERS = {
    name: partial(build, "predictors", f"{name}:{options}".rstrip(":"))
    for name, options in OPTIONS.items()
}
MAKERS["of scikit-learn"] = partial(
    from_estimator, LinearRegression(), start=100, window=300, limit=150
)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", MAKERS)
def test_predictors_keep_the_contract(name, check):
    """Everything that is promised, while models come and go."""
    check(MAKERS[name])


def test_no_predictor_is_forgotten():
    """What is registered is checked, but what is given the truth."""
    assert {"actual", *OPTIONS} == set(registry.names("predictors"))


def test_the_sample_has_everything_in_it():
    """Unknown users, names and queues, runtimes of 0 and beyond the request, every ending."""
    workload = sample().workload
    assert not sample().rejected
    for label in (workload.user, workload.name, workload.queue):
        assert (label.codes == -1).any()
        assert len(label.values) > 1
    assert (workload.runtime == 0).any()
    assert (workload.runtime > workload.requested_time).any()
    assert (np.diff(workload.submit) == 0).any()
    assert len(np.unique(workload.status)) == 3


def test_the_sample_begins_the_same_however_long_it_is():
    """So that a check may compare a part with the whole."""
    short, long = sample(50).workload, sample(80).workload
    assert short.digest() == long.take(np.arange(50)).digest()


class Bad(RuntimePredictor):
    """Answers the requested time, until a subclass does something wrong."""

    name = "bad"

    def predict(self, jobs, now):
        return Prediction.point(jobs.requested_time)


class Floats(Bad):
    def predict(self, jobs, now):
        values = jobs.requested_time / 2
        return Prediction(values, values, values)


class AnswersOneJob(Bad):
    def predict(self, jobs, now):
        return Prediction.point(np.array([5]))


class NeedsHistory(Bad):
    def reset(self, system, seed):
        self.mean = None

    def observe(self, jobs, outcome, now):
        self.mean = int(outcome.runtime[0])

    def predict(self, jobs, now):
        return Prediction.point(np.full(len(jobs), self.mean, dtype=np.int64))


class Knows(Bad):
    """Has the runtimes from elsewhere."""

    def predict(self, jobs, now):
        runtime = checks.truth_for_test[jobs.handle]
        return Prediction.point(runtime)


class Remembers(Bad):
    """Forgets nothing at reset."""

    last = 7

    def observe(self, jobs, outcome, now):
        type(self).last = int(outcome.runtime[0])

    def predict(self, jobs, now):
        return Prediction.point(np.full(len(jobs), type(self).last))


class Counts(Bad):
    """Every question makes its answers longer."""

    def reset(self, system, seed):
        self.asked = 0

    def predict(self, jobs, now):
        self.asked += 1
        return Prediction.point(jobs.requested_time + self.asked)


class Writes(Bad):
    def predict(self, jobs, now):
        jobs.store.writable[jobs.rows[0], 2] += 1
        return super().predict(jobs, now)


class ChangesOutcome(Bad):
    def observe(self, jobs, outcome, now):
        outcome.runtime[0] = 0


class Unsaved(Last):
    def state(self):
        return {}

    def restore(self, state):
        pass


class SavesObjects(Last):
    def state(self):
        return {"all": {1, 2}}


class LosesCounts(UserHistory):
    def restore(self, state):
        self._history.restore(state["history"])


class Hoards(Bad):
    def reset(self, system, seed):
        self.jobs = []

    def observe(self, jobs, outcome, now):
        self.jobs.append(jobs.strings("user")[0])


class KeepsTheQueue(Bad):
    """Drops jobs when they end, but not when they are cancelled."""

    def reset(self, system, seed):
        self.waiting = {}

    def on_submit(self, jobs, now):
        self.waiting.update(zip(jobs.handle.tolist(), jobs.strings("user"), strict=True))

    def observe(self, jobs, outcome, now):
        del self.waiting[int(jobs.handle[0])]


class HoardsInItsClass(Bad):
    jobs: ClassVar[list] = []

    def observe(self, jobs, outcome, now):
        self.jobs.append(jobs.strings("user")[0])


class HoardsInAClosure(Bad):
    def reset(self, system, seed):
        kept = []
        self.keep = lambda user: kept.append(user)

    def observe(self, jobs, outcome, now):
        self.keep(jobs.strings("user")[0])


KEPT = []


class HoardsInItsModule(Bad):
    def observe(self, jobs, outcome, now):
        KEPT.append(jobs.strings("user")[0])


class HoardsInACache(Bad):
    @staticmethod
    @cache
    def long(name):
        return len(name or "")

    def observe(self, jobs, outcome, now):
        self.long(jobs.strings("user")[0])


class WritesWhenCancelled(Bad):
    def on_cancel(self, jobs, now):
        jobs.store.writable[jobs.rows[0], 2] += 1


class TellsTheTime(Bad):
    def predict(self, jobs, now):
        return Prediction.point(jobs.requested_time + int(time.time()) // 86_000)


class Hashes(Bad):
    def predict(self, jobs, now):
        return Prediction.point(np.array([hash(user) % 1000 for user in jobs.strings("user")]))


class HourOfDay(Bad):
    def predict(self, jobs, now):
        return Prediction.point(jobs.requested_time + int(time.time()) % 86_400 // 3600)


class Kind(Enum):
    SHORT = "short"
    LONG = "long"


FACTOR = {Kind.SHORT: 2, Kind.LONG: 3}
TABLE = np.zeros(100_000)


class UsesEnumsAndKernels(Bad):
    """Nothing is wrong with it."""

    def reset(self, system, seed):
        self.kernel = numba.njit(lambda value: value)

    def predict(self, jobs, now):
        return Prediction.point(jobs.requested_time * FACTOR[Kind.SHORT])


class KeepsCodes(Bad):
    """Takes a user's number for the user."""

    def reset(self, system, seed):
        self.last = np.zeros(1000, dtype=np.int64)

    def observe(self, jobs, outcome, now):
        self.last[jobs.column(c.USER)] = outcome.runtime

    def predict(self, jobs, now):
        return Prediction.point(self.last[jobs.column(c.USER)])

    def state(self):
        return {"last": self.last.copy()}

    def restore(self, state):
        self.last = np.array(state["last"])


class KeepsNamesOfCodes(Bad):
    """Remembers across runs which name a number had."""

    def __init__(self):
        self.names = {}

    def predict(self, jobs, now):
        known = zip(jobs.column(c.USER).tolist(), jobs.strings("user"), strict=True)
        names = [self.names.setdefault(code, name or "") for code, name in known]
        return Prediction.point(np.array([int(name[4:] or 0) for name in names]))


@pytest.mark.parametrize(
    ("predictor", "check", "message"),
    [
        (Floats, checks.check_answers_before_any_observation, "dtype float64, must be int64"),
        (AnswersOneJob, checks.check_answers_before_any_observation, r"400 jobs.*shape \(1,\)"),
        (Remembers, checks.check_same_seed_same_answers, "differ after reset"),
        (KeepsNamesOfCodes, checks.check_same_seed_same_answers, "reset from another log"),
        (HourOfDay, checks.check_same_seed_same_answers, "depend on the clock or on hash"),
        (TellsTheTime, checks.check_same_seed_same_answers, "depend on the clock or on hash"),
        (Hashes, checks.check_same_seed_same_answers, "depend on the clock or on hash"),
        (KeepsCodes, checks.check_keeps_strings_not_codes, "depend on the numbers that users"),
        (Counts, checks.check_asking_changes_nothing, "change when asked for again"),
        (Writes, checks.check_leaves_its_input_alone, "predict changes the job table"),
        (ChangesOutcome, checks.check_leaves_its_input_alone, "observe changes the outcome"),
        (WritesWhenCancelled, checks.check_leaves_its_input_alone, "on_cancel changes the job"),
        (Unsaved, checks.check_survives_saving, "differ after save and load: .* the first is job"),
        (SavesObjects, checks.check_survives_saving, "not an array, number or string"),
        (LosesCounts, checks.check_survives_saving, "stats differ after save and load"),
        (Hoards, checks.check_memory_is_bounded, "memory is not bounded"),
        (HoardsInItsClass, checks.check_memory_is_bounded, "memory is not bounded"),
        (HoardsInAClosure, checks.check_memory_is_bounded, "memory is not bounded"),
        (HoardsInItsModule, checks.check_memory_is_bounded, "memory is not bounded"),
        (HoardsInACache, checks.check_memory_is_bounded, "memory is not bounded"),
        (KeepsTheQueue, checks.check_forgets_cancelled_jobs, "2,000: memory is not bounded"),
    ],
)
def test_checks_find_what_is_wrong(predictor, check, message):
    """One bad predictor for each promise."""
    with pytest.raises(CheckError, match=message):
        check(predictor)


def test_checks_let_pass_what_is_right():
    """Keys with hashes of their own, compiled functions."""
    check_predictor(UsesEnumsAndKernels)


def test_needing_a_history_is_found_out():
    """The predictor's own error comes through."""
    with pytest.raises(TypeError):
        check_predictor(NeedsHistory)


def test_knowing_the_future_is_found_out(monkeypatch):
    """Given the truth of whichever world is shown, answers differ between the worlds."""
    real = checks.Replay

    def telling(fitted, *rest, **more):
        checks.truth_for_test = fitted.workload.runtime
        return real(fitted, *rest, **more)

    monkeypatch.setattr(checks, "Replay", telling)
    monkeypatch.setattr(checks, "truth_for_test", None, raising=False)
    with pytest.raises(CheckError, match="depend on what happens later"):
        checks.check_knows_no_future(Knows)
