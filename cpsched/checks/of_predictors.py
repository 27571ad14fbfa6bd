"""
What every runtime predictor must keep, as checks that authors of predictors can run.

With pytest::

    import pytest
    from cpsched.checks.of_predictors import CHECKS

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
    def test_my_predictor(check):
        check(lambda: MyPredictor(window=500))

or without: ``check_predictor(MyPredictor)`` runs them all. Every check takes a function that makes
a predictor, and raises :class:`CheckError` saying what is wrong. Each shows the predictor a small
made-up log (:mod:`cpsched.checks.predictor_tools`) in the order of simulated time, as the simulator
does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.checks import other_future, require, through_a_file
from cpsched.checks.predictor_tools import (
    PredictsTwice,
    Raw,
    Renumbered,
    Watched,
    another_process,
    answered,
    same,
    sample,
    size,
)
from cpsched.model.estimates import Requested
from cpsched.model.jobtable import JobTable
from cpsched.model.prediction import Prediction, distribution_fault
from cpsched.model.seeds import stream_seed
from cpsched.study.prediction.replay import PredictorReplay

if TYPE_CHECKING:
    from collections.abc import Callable

    from cpsched.model.prediction import RuntimePredictor
    from cpsched.systems.mapping import Fitted

    Maker = Callable[[], RuntimePredictor]

_SEED = 42
#: Jobs shown by the check of memory: half of them must be enough to fill it.
_MANY = 2000
#: By how much it may still grow then: containers grow in steps.
_GROWTH = 1.25
_SMALL = 64_000


def check_predictor(make: Maker) -> None:
    """
    Run all checks.

    Parameters
    ----------
    make
        Makes a predictor, a new one at every call, with limits on its memory that 1,000 jobs of
        as many users fill.

    Raises
    ------
    CheckError
        At the first that fails.
    """
    for check in CHECKS:
        check(make)


def check_answers_before_any_observation(make: Maker) -> None:
    """
    It answers for one job, many and none when it has seen nothing, in whole seconds.

    To pass: return a ``Prediction`` of int64 arrays, also for no jobs and with nothing learnt.
    """
    fitted = sample()
    predictor = make()
    predictor.reset(fitted.system, _SEED)
    jobs = _submitted(fitted)
    for rows in ([0], list(range(len(jobs))), []):
        first_jobs = jobs.take(np.array(rows, dtype=np.int64))
        predictor.on_submit(first_jobs, 0)
        answer = predictor.predict(first_jobs, 0)
        require(isinstance(answer, Prediction), f"predict returns {type(answer).__name__}")
        for purpose, values in zip(Prediction._fields, answer[:3], strict=False):
            what = f"{purpose} of {len(rows)} jobs, nothing seen yet"
            require(isinstance(values, np.ndarray), f"{what}: not an array")
            require(values.dtype == np.int64, f"{what}: dtype {values.dtype}, must be int64")
            require(values.shape == (len(rows),), f"{what}: shape {values.shape}")
        fault = distribution_fault(answer.quantiles, answer.ends_within, len(rows))
        require(fault is None, f"answers for {len(rows)} jobs, nothing seen yet: {fault}")


def check_knows_no_future(make: Maker) -> None:
    """
    Its answers up to a second are the same whatever happens later.

    Changed are runtimes and statuses of jobs that have not ended by then, and all later submits.

    To pass: learn runtimes from ``observe`` alone.
    """
    fitted = sample()
    workload = fitted.workload
    start, end = workload.recorded_start, workload.recorded_start + workload.runtime
    all_answers = _answers(make(), fitted)
    for position in (0.05, 0.3, 0.6, 0.9):
        until = int(workload.submit[int(position * len(workload))])
        answers = _answers(make(), other_future(fitted, start, end, until))
        known = int(np.searchsorted(workload.submit, until, side="right"))
        same(_first(all_answers, known), _first(answers, known), "depend on what happens later")


def check_same_seed_same_answers(make: Maker) -> None:
    """
    Equal runs give equal answers, in a new predictor and in one that is reset, also after others.

    They do not depend on the time of day, nor on ``hash`` of strings, which is another in every
    process. (An order of sets of strings is, too, but that cannot be seen from here.)

    To pass: forget everything in ``reset``, and use no clock, no ``hash`` of strings and no
    randomness but that of the seed.
    """
    fitted, other = sample(), sample(seed=1)
    predictor = make()
    first = _answers(predictor, fitted)
    same(first, _answers(predictor, fitted), "differ after reset")
    same(first, _answers(make(), fitted), "differ between equal runs")
    wanted = _answers(make(), other)
    same(wanted, _answers(predictor, other), "differ after reset from another log")
    with another_process():
        same(first, _answers(make(), fitted), "depend on the clock or on hash() of strings")


def check_keeps_strings_not_codes(make: Maker) -> None:
    """
    What was learnt of one log is the same whatever numbers users have in the next.

    To pass: keep strings, as ``jobs.strings("user")`` returns them, not codes.
    """
    fitted = sample()
    replay = _replay(make(), fitted)
    replay.run()
    state = through_a_file(dict(replay.predictor.state()))
    # Times go on where they ended.
    ended = fitted.workload.recorded_start + fitted.workload.runtime
    after = sample(seed=1, begin=int(ended.max()) + 1)

    def answers(wrapper: type[Raw]) -> Prediction:
        predictor = make()
        replay = _replay(wrapper(predictor), after)
        predictor.restore(state)
        replay.run()
        return answered(replay)

    what = "depend on the numbers that users, names, queues or groups have in a run"
    same(answers(Raw), answers(Renumbered), what)


def check_asking_changes_nothing(make: Maker) -> None:
    """
    A second question gets the answer of the first, and later answers stay as they were.

    To pass: change nothing in ``predict``.
    """
    fitted = sample()
    same(
        _answers(make(), fitted),
        _answers(PredictsTwice(make()), fitted),
        "change when they are read",
    )


def check_leaves_its_input_alone(make: Maker) -> None:
    """
    Job tables and outcomes are as before after every call.

    To pass: copy their arrays before changing them.
    """
    fitted = sample()
    predictor = Watched(make())
    _answers(predictor, fitted)
    jobs = _submitted(fitted).take(np.arange(1))
    now = int((fitted.workload.recorded_start + fitted.workload.runtime).max())
    predictor.on_submit(jobs, now)
    predictor.on_cancel(jobs, now)


def check_survives_saving(make: Maker) -> None:
    """
    What ``state`` gives goes through a file and back, and answers go on as without it.

    To pass: return all that was learnt from ``state``, with counts, and read it in ``restore``.
    """
    fitted = sample()
    uninterrupted = _replay(make(), fitted)
    uninterrupted.run()
    submit = fitted.workload.submit
    for position in (0.0, 0.3, 0.7):
        replay = _replay(make(), fitted)
        replay.run(until=int(submit[int(position * len(submit))]) + 1)
        again = make()
        again.reset(fitted.system, stream_seed(_SEED, "predictor"))
        again.restore(through_a_file(dict(replay.predictor.state())))
        replay.hand_to(again)
        replay.run()
        same(answered(uninterrupted), answered(replay), "differ after save and load")
        require(
            dict(again.stats()) == dict(uninterrupted.predictor.stats()),
            "stats differ after save and load: counts are part of the state",
        )


def check_memory_is_bounded(make: Maker) -> None:
    """
    What it keeps of 2,000 jobs of as many users is no more than of the first 1,000.

    To pass: limit what is kept by an option, and check with a limit that 1,000 users fill:
    ``my_module:Mine:users=500``.
    """
    fitted = sample(_MANY, strangers=True)
    replay = _replay(make(), fitted)
    empty = size(replay.predictor)
    replay.run(until=int(fitted.workload.submit[_MANY // 2]))
    half = size(replay.predictor)
    replay.run()
    _require_bounded(half - empty, size(replay.predictor) - empty, "jobs")


def check_forgets_cancelled_jobs(make: Maker) -> None:
    """
    Jobs that are cancelled while they wait are not kept.

    To pass: forget a job in ``on_cancel``.
    """
    fitted = sample(_MANY, strangers=True)
    jobs = _submitted(fitted)
    predictor = make()
    predictor.reset(fitted.system, _SEED)
    sizes = [size(predictor)]
    for row in range(_MANY):
        job = jobs.take(np.array([row]))
        predictor.on_submit(job, row)
        predictor.predict(job, row)
        predictor.on_cancel(job, row)
        if row + 1 in (_MANY // 2, _MANY):
            sizes.append(size(predictor))
    empty, half, full = sizes
    _require_bounded(half - empty, full - empty, "cancelled jobs")


#: All checks, for ``pytest.mark.parametrize``.
CHECKS: tuple[Callable[[Maker], None], ...] = (
    check_answers_before_any_observation,
    check_knows_no_future,
    check_same_seed_same_answers,
    check_keeps_strings_not_codes,
    check_asking_changes_nothing,
    check_leaves_its_input_alone,
    check_survives_saving,
    check_memory_is_bounded,
    check_forgets_cancelled_jobs,
)


def _require_bounded(half: int, full: int, jobs: str) -> None:
    require(
        full <= max(_GROWTH * half, _SMALL),
        f"keeps {half:,} bytes of {_MANY // 2:,} {jobs} and {full:,} of {_MANY:,}: memory is not"
        " bounded, or its limits are too wide for this check",
    )


def _replay(predictor: RuntimePredictor, fitted: Fitted) -> PredictorReplay:
    return PredictorReplay(fitted, fitted.workload.recorded_start, predictor, seed=_SEED)


def _answers(predictor: RuntimePredictor, fitted: Fitted) -> Prediction:
    """Return all answers as they come, not clipped: a predictor may hide nothing behind that."""
    replay = _replay(Raw(predictor), fitted)
    replay.run()
    return answered(replay)


def _first(answers: Prediction, num: int) -> Prediction:
    """Return the answers for the first jobs."""
    return Prediction._make(None if values is None else values[:num] for values in answers)


def _submitted(fitted: Fitted) -> JobTable:
    """Return all jobs as a table."""
    replay = _replay(Requested(), fitted)
    replay.arrivals.enter(replay.store, 0, len(replay.arrivals))
    return JobTable(replay.store, np.arange(len(replay.arrivals), dtype=np.int64))
