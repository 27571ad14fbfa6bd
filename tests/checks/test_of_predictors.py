"""The checks of predictors: each of them can fail."""

from __future__ import annotations

import time
from enum import Enum
from functools import cache
from typing import ClassVar

import numpy as np
import pytest

from cpsched.checks import CheckError
from cpsched.checks import of_predictors as checks
from cpsched.checks.of_predictors import check_predictor
from cpsched.checks.predictor_tools import sample
from cpsched.model import columns as c
from cpsched.model.prediction import Prediction, RuntimePredictor
from predictors.last import Last
from predictors.user_history import UserHistory

pytestmark = pytest.mark.slow


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


def bad(base=Bad, **methods):
    """Return a kind of predictor that does these things otherwise."""
    return type("Bad", (base,), {"__module__": __name__, **methods})


def point(answer):
    """Return a ``predict`` that answers so."""
    return lambda self, jobs, now: Prediction.point(np.asarray(answer(self, jobs), dtype=np.int64))


def keeps(**values):
    """Return a ``reset`` that begins with these values."""
    return lambda self, system, seed: vars(self).update(values)


def hoards(keep):
    """Return an ``observe`` that hands the user over."""
    return lambda self, jobs, outcome, now: keep(jobs.strings("user")[0])


def counted(self, jobs):
    self.asked += 1
    return jobs.requested_time + self.asked


def written(self, jobs, now):
    jobs.store.writable[jobs.rows[0], 2] += 1
    return Prediction.point(jobs.requested_time)


def remembered(self, jobs, outcome, now):
    """Forget nothing at reset."""
    type(self).last = int(outcome.runtime[0])


def by_name(self, jobs):
    """Remember across runs which name a number had."""
    known = zip(jobs.column(c.USER).tolist(), jobs.strings("user"), strict=True)
    remembered = vars(self).setdefault("names", {})
    names = [remembered.setdefault(code, name or "") for code, name in known]
    return [int(name[4:] or 0) for name in names]


class KeepsCodes(Bad):
    """Takes a user's number for the user."""

    predict = point(lambda self, jobs: self.last[jobs.column(c.USER)])

    def reset(self, system, seed):
        self.last = np.zeros(1000, dtype=np.int64)

    def observe(self, jobs, outcome, now):
        self.last[jobs.column(c.USER)] = outcome.runtime

    def state(self):
        return {"last": self.last.copy()}

    def restore(self, state):
        self.last = np.array(state["last"])


class KeepsTheQueue(Bad):
    """Drops jobs when they end, but not when they are cancelled."""

    def reset(self, system, seed):
        self.waiting = {}

    def on_submit(self, jobs, now):
        self.waiting.update(zip(jobs.handle.tolist(), jobs.strings("user"), strict=True))

    def observe(self, jobs, outcome, now):
        del self.waiting[int(jobs.handle[0])]


class HoardsInItsClass(Bad):
    users: ClassVar[list] = []
    observe = hoards(users.append)


class HoardsInAClosure(Bad):
    def reset(self, system, seed):
        users = []
        self.keep = lambda user: users.append(user)

    def observe(self, jobs, outcome, now):
        self.keep(jobs.strings("user")[0])


class HoardsInACache(Bad):
    @staticmethod
    @cache
    def long(name):
        return len(name)

    def observe(self, jobs, outcome, now):
        self.long(jobs.strings("user")[0] or "")


KEPT = []


class Kind(Enum):
    SHORT = "short"


FACTOR = {Kind.SHORT: 2}
TABLE = np.zeros(100_000)


class UsesEnumsAndCompiledFunctions(Bad):
    """Nothing is wrong with it."""

    predict = point(lambda self, jobs: jobs.requested_time * FACTOR[Kind.SHORT])

    def reset(self, system, seed):
        self.compiled = np.frompyfunc(abs, 1, 1)


def floats(self, jobs, now):
    return Prediction(*[jobs.requested_time / 2] * 3)


BAD = {
    "answers_before_any_observation": [
        (bad(predict=floats), "dtype float64, must be int64"),
        (bad(predict=point(lambda self, jobs: [5])), r"400 jobs.*shape \(1,\)"),
    ],
    "same_seed_same_answers": [
        (
            bad(
                last=7,
                observe=remembered,
                predict=point(lambda self, jobs: [self.last] * len(jobs)),
            ),
            "differ after reset",
        ),
        (bad(predict=point(by_name)), "reset from another log"),
        (
            bad(predict=point(lambda self, jobs: jobs.requested_time + int(time.time()) // 3600)),
            "depend on the clock or on hash",
        ),
        (
            bad(
                predict=point(
                    lambda self, jobs: [hash(user) % 1000 for user in jobs.strings("user")]
                )
            ),
            "depend on the clock or on hash",
        ),
    ],
    "keeps_strings_not_codes": [(KeepsCodes, "depend on the numbers that users")],
    "asking_changes_nothing": [
        (bad(reset=keeps(asked=0), predict=point(counted)), "change when asked for again")
    ],
    "leaves_its_input_alone": [
        (bad(predict=written), "predict changes the job table"),
        (
            bad(observe=lambda self, jobs, outcome, now: outcome.runtime.fill(0)),
            "observe changes the outcome",
        ),
        (bad(on_cancel=written), "on_cancel changes the job"),
    ],
    "survives_saving": [
        (
            bad(Last, state=lambda self: {}, restore=lambda self, state: None),
            "differ after save and load: .* the first is job",
        ),
        (bad(Last, state=lambda self: {"all": {1, 2}}), "not an array, number or string"),
        (
            bad(UserHistory, restore=lambda self, state: self._history.restore(state["history"])),
            "stats differ after save and load",
        ),
    ],
    "memory_is_bounded": [
        (HoardsInItsClass, "memory is not bounded"),
        (HoardsInAClosure, "memory is not bounded"),
        (bad(observe=hoards(KEPT.append)), "memory is not bounded"),
        (HoardsInACache, "memory is not bounded"),
    ],
    "forgets_cancelled_jobs": [(KeepsTheQueue, "2,000: memory is not bounded")],
}


@pytest.mark.parametrize(
    ("check", "predictor", "message"),
    [(check, *case) for check, cases in BAD.items() for case in cases],
)
def test_checks_find_what_is_wrong(check, predictor, message):
    """One bad predictor for each promise."""
    with pytest.raises(CheckError, match=message):
        getattr(checks, f"check_{check}")(predictor)


def test_checks_let_pass_what_is_right():
    """Keys with hashes of their own, compiled functions."""
    check_predictor(UsesEnumsAndCompiledFunctions)


def test_needing_a_history_is_found_out():
    """The predictor's own error comes through."""
    needs_it = bad(
        reset=keeps(mean=None), predict=point(lambda self, jobs: [self.mean] * len(jobs))
    )
    with pytest.raises(TypeError):
        check_predictor(needs_it)


def test_knowing_the_future_is_found_out(monkeypatch):
    """Given the truth of whichever world is shown, answers differ between the worlds."""
    real = checks.PredictorReplay

    def telling(fitted, *rest, **more):
        checks.truth_for_test = fitted.workload.runtime
        return real(fitted, *rest, **more)

    monkeypatch.setattr(checks, "PredictorReplay", telling)
    monkeypatch.setattr(checks, "truth_for_test", None, raising=False)
    with pytest.raises(CheckError, match="depend on what happens later"):
        checks.check_knows_no_future(
            bad(predict=point(lambda self, jobs: checks.truth_for_test[jobs.handle]))
        )
