"""Baselines and rules, on histories worked out by hand."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jobtables import job_table
from tiny import jobs, machine, run

from cpsched.errors import ConfigError
from cpsched.model.prediction import Outcome
from cpsched.study.prediction.replay import PredictorReplay
from cpsched.util.spec import build
from predictors.history import EIGHT_RULES, SIX_RULES
from predictors.job_records import prefix_rule
from predictors.remembered import RecentRuntimes

RESOURCES = ("core", "gpu", "mem")


def table(*rows):
    """Return jobs of (user, name, queue, requested, units, gpus a unit, memory a unit)."""
    num = len(rows)
    return job_table(
        resources=RESOURCES,
        handle=np.arange(num),
        submit=np.zeros(num, dtype=np.int64),
        requested_time=[row[3] for row in rows],
        units=[row[4] for row in rows],
        request=[(1, row[5], row[6]) for row in rows],
        strings={
            "user": [row[0] for row in rows],
            "name": [row[1] for row in rows],
            "queue": [row[2] for row in rows],
        },
    )


def observed(predictor, *pairs):
    """Let jobs end one after another, given as (row of a table, runtime)."""
    predictor.reset(machine((4,)), 0)
    for row, runtime in pairs:
        outcome = Outcome(np.array([runtime]), np.array([1]), np.array([False]))
        predictor.observe(table(row), outcome, 0)
    return predictor


def answer(predictor, *rows):
    return predictor.predict(table(*rows), 0).runtime_estimate.tolist()


def rules_used(predictor):
    return [int(count) for count in predictor.stats().values()]


JOB = ("ann", "run1", "batch", 900, 4, 1, 64)


def like(**changes):
    fields = ("user", "name", "queue", "requested", "units", "gpus", "mem")
    return tuple({**dict(zip(fields, JOB, strict=True)), **changes}.values())


@pytest.mark.parametrize(
    ("other", "rule"),
    [
        (like(), 1),
        (like(mem=128), 1),  # memory is not part of the profile
        (like(name="run2"), 2),
        (like(units=8), 3),
        (like(gpus=0), 3),
        (like(name="run-17.sh", units=8), 4),
        (like(queue="debug"), 5),
        (like(requested=60), 5),
        (like(name="run9", requested=60), 5),  # the prefix of the name alone
        (like(name="walk"), 6),
        (like(user="bob"), 6),
        (like(user=""), 6),
    ],
)
def test_six_rules(other, rule):
    """Each rule, by a job that differs in just what the rule lets differ; 6 is the request."""
    predictor = observed(build("predictors", "user-history"), (JOB, 111))
    wanted = 111 if rule < 6 else other[3]
    assert answer(predictor, other) == [wanted]
    assert rules_used(predictor) == [int(index + 1 == rule) for index in range(6)]
    assert list(predictor.stats()) == [f"rule {i + 1}: {r}" for i, r in enumerate(SIX_RULES)]


def test_jobs_without_users_share_one_history():
    """A log that hides its users; but what looks at the user alone finds nothing."""
    hidden = like(user="")
    predictor = observed(build("predictors", "user-history"), (hidden, 111))
    assert answer(predictor, hidden, JOB) == [111, 900]
    predictor = observed(build("predictors", "user-history-plus"), (hidden, 111))
    assert answer(predictor, hidden, like(user="", name="x")) == [111, 900]


def test_memory_can_be_part_of_the_profile():
    """As an option; the rules that let resources differ still match."""
    predictor = observed(build("predictors", "user-history:memory=yes"), (JOB, 111))
    answer(predictor, like(mem=128), JOB)
    assert rules_used(predictor) == [1, 0, 1, 0, 0, 0]


@pytest.mark.parametrize(
    ("setting", "name", "prefix"),
    [
        ("stem", "relax_012", "relax"),
        ("stem", "relax-7b", "relax"),
        ("stem", "relax", "relax"),
        ("stem", "a.out", "a.out"),
        ("stem", "1abc", None),
        ("stem", "123", None),
        ("stem", "___", None),
        ("3", "relax_012", "rel"),
        ("3", "ab", "ab"),
        ("3", "12345", None),
        ("none", "relax", None),
    ],
)
def test_prefixes(setting, name, prefix):
    """Numbers alone are ids of executables. A rule can be sent to another process."""
    assert prefix_rule(setting)(name) == prefix
    assert pickle.loads(pickle.dumps(prefix_rule(setting)))(name) == prefix


@pytest.mark.parametrize("setting", ["", "0", "257", "-1", "word", "²"])
def test_bad_prefix_settings(setting):
    """One line says what would be accepted."""
    with pytest.raises(ValueError, match="must be stem, none or a number from 1 to 256"):
        prefix_rule(setting)


def test_bad_options_are_one_line():
    """From a specification."""
    with pytest.raises(ConfigError, match="user-history:prefix=x: prefix is 'x', must be stem"):
        build("predictors", "user-history:prefix=x")
    with pytest.raises(ConfigError, match="must be at least 1"):
        build("predictors", "user-history:limit=0")
    with pytest.raises(ConfigError, match="count is 0, must be from 1 to 1000"):
        build("predictors", "last:count=0")


def test_plus_takes_the_median_of_the_last_three():
    """Of the class the first matching rule gives; of two, the mean rounded up."""
    predictor = build("predictors", "user-history-plus")
    assert answer(observed(predictor, (JOB, 10)), JOB) == [10]
    assert answer(observed(predictor, (JOB, 10), (JOB, 21)), JOB) == [16]
    assert answer(observed(predictor, (JOB, 500), (JOB, 10), (JOB, 90), (JOB, 20)), JOB) == [20]


def test_plus_has_two_more_rules():
    """The same user and requested time, then the user's last jobs, then the request."""
    predictor = observed(
        build("predictors", "user-history-plus"), (JOB, 10), (like(name="walk", requested=50), 40)
    )
    other = like(name="x", queue="y")
    assert answer(predictor, other, like(name="x", requested=77), like(user="bob")) == [10, 25, 900]
    assert rules_used(predictor) == [0, 0, 0, 0, 0, 1, 1, 1]
    assert [rule.split(": ")[1] for rule in predictor.stats()] == list(EIGHT_RULES)


def test_last_and_the_mean_of_two():
    """The request until enough jobs have ended; a half second is rounded up."""
    last, mean_of_two = (
        observed(build("predictors", "last")),
        observed(build("predictors", "last:count=2")),
    )
    assert answer(last, JOB) == answer(mean_of_two, JOB) == [900]
    for predictor, wanted in ((last, 30), (mean_of_two, 900)):
        assert answer(observed(predictor, (JOB, 30)), JOB) == [wanted]
    for predictor, wanted in ((last, 41), (mean_of_two, 36)):
        assert answer(observed(predictor, (JOB, 7), (JOB, 30), (JOB, 41)), JOB) == [wanted]
        assert answer(predictor, like(user="bob"), like(user="")) == [900, 900]


def test_controls_are_shares_of_the_truth():
    """Half the truth, unclipped and rounded down."""
    workload = jobs((0, 1, 3, 99), (0, 1, 1, 5))
    for spec, wanted in (("actual:factor=0.5", [1, 0]), ("actual", [3, 1])):
        schedule = run(workload, machine((4,)), "fifo", spec).schedule
        assert schedule.runtime_estimate.tolist() == wanted, spec


def estimates(spec, runtimes, seed=0):
    """Return what is predicted of jobs that asked for 1000 s, all submitted at once."""
    workload = jobs(*((0, 1, runtime, 1000) for runtime in runtimes))
    result = run(workload, machine((len(runtimes),)), "fifo", spec, seed=seed)
    return result.schedule.runtime_estimate


def test_noise_on_the_truth_is_lognormal_and_each_jobs_own():
    """Median 1 and the deviation asked for; other with another seed."""
    log_ratios = np.log(estimates("actual:sigma=0.5", [900_000] * 400) / 900_000)
    assert np.median(log_ratios) == pytest.approx(0, abs=0.1)
    assert log_ratios.std() == pytest.approx(0.5, abs=0.06)
    again, other = (estimates("actual:sigma=0.5", [900] * 9, seed=seed) for seed in (0, 1))
    assert (again == estimates("actual:sigma=0.5", [900] * 9)).all()
    assert (again != other).any()


def test_impossible_knowledge_is_refused():
    """One line."""
    with pytest.raises(ConfigError, match="sigma is -1"):
        estimates("actual:sigma=-1", [1])


def test_answers_are_clipped_to_the_request():
    """A job that ran beyond its request teaches more than any later job may be told."""
    workload = jobs((0, 1, 50, 10), (60, 1, 1, 10), user=["ann", "ann"])
    schedule = run(workload, machine((4,)), "fifo", "last", overrun="extend").schedule
    assert schedule.runtime_estimate.tolist() == [10, 10]


def test_a_run_shows_the_rules_used(tmp_path):
    """In the result and in ``run.json``."""
    import json

    from cpsched.study import save_run

    # The second job comes when the first has ended, the third before the second has.
    workload = jobs((0, 1, 3, 9), (5, 1, 4, 9), (6, 1, 2, 9), user=["ann"] * 3)
    result = run(workload, machine((4,)), "fifo", "user-history")
    assert list(result.predictions.values()) == [2, 0, 0, 0, 0, 1]
    assert result.schedule.runtime_estimate.tolist() == [9, 3, 3]
    save_run(result, tmp_path / "run")
    description = json.loads((tmp_path / "run" / "run.json").read_text())
    assert description["predictions"]["rule 1: full profile"] == 2


class Slow:
    """The rules as they are written: look through the user's finished jobs, newest first."""

    def __init__(self):
        self.ended = []

    def answer(self, job):
        prefix = prefix_rule("stem")
        user, name, queue, requested, *size = job[:6]

        def stem(text):
            return prefix(text) if text else None

        def same_name(past):
            return past[1] == name

        def same_stem(past):
            return stem(name) is not None and stem(past[1]) == stem(name)

        def profile(past):
            return (past[2], past[3]) == (queue, requested)

        rules = [
            lambda past: same_name(past) and profile(past) and list(past[4:6]) == size,
            lambda past: same_stem(past) and profile(past) and list(past[4:6]) == size,
            lambda past: same_name(past) and profile(past),
            lambda past: same_stem(past) and profile(past),
            same_name,
            same_stem,
        ]
        for rule in rules:
            for past, runtime in reversed(self.ended):
                if past[0] == user and rule(past):
                    return runtime
        return requested


job_rows = st.tuples(
    st.sampled_from(["ann", "bob", ""]),
    st.sampled_from(["run1", "run2", "walk", "7", "8", ""]),
    st.sampled_from(["batch", ""]),
    st.sampled_from([60, 900]),
    st.sampled_from([1, 2]),
    st.sampled_from([0, 1]),
    st.sampled_from([64, 128]),
)


@given(ends=st.lists(job_rows, max_size=12), job=job_rows)
@settings(max_examples=100)
def test_rules_equal_a_search_through_the_history(ends, job):
    """Hashed keys give what looking through all finished jobs gives."""
    slow = Slow()
    slow.ended = [(row, 1000 + index) for index, row in enumerate(ends)]
    predictor = observed(
        build("predictors", "user-history"), *((row, 1000 + i) for i, row in enumerate(ends))
    )
    assert answer(predictor, job) == [slow.answer(job)]


def test_recent_forgets_what_has_gone_longest_without_news():
    """Not what was first seen; through JSON and back, whatever names hold."""
    recent, other = RecentRuntimes(keep=2, limit=2), RecentRuntimes(keep=2, limit=2)
    a, b, c, d = ("ann\0", None, (1, (2, 3))), ("\ud800", '"', ()), "ü", "d"
    for key, runtime in ((a, 1), (b, 2), (a, 3), (c, 4), (a, 5)):
        recent.add(key, runtime)
    assert [recent.get(key) for key in (a, b, c)] == [(3, 5), None, (4,)]
    assert len(recent) == 2
    other.load(recent.dump())
    other.add(d, 6)
    assert [other.get(key) for key in (a, c, d)] == [(3, 5), None, (6,)]


def test_replay_and_simulation_show_the_same():
    """A replay of the starts a simulation made gives the simulation's predictions."""
    from cpsched.checks.predictor_tools import sample

    fitted = sample()
    for spec in ("last:count=2", "user-history", "user-history-plus"):
        schedule = run(fitted, fitted.system, "easy", spec, overrun="extend").schedule
        replay = PredictorReplay(fitted, schedule.start, build("predictors", spec))
        replay.run()
        assert replay.answers[:, 1].tolist() == schedule.runtime_estimate.tolist()
