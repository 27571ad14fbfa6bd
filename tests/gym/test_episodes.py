"""Episodes start jobs when the simulator does, and show nothing of the future."""

import numpy as np
import pytest
from episodes import POOL, drawn, env_of, played
from tiny import jobs, machine, run

from cpsched.gym.environment import BatchScheduling
from cpsched.gym.episode_jobs import pool_of
from cpsched.gym.features import ESTIMATE, FITS, IS_WAIT, UNTIL_FITS, WAITED
from cpsched.logs import read as read_log
from cpsched.systems.mapping import fit


def first_come(rows, mask):
    return int(mask.argmax())


def shortest(rows, mask):
    return int(np.where(mask, rows[:, ESTIMATE], 9.0).argmin())


@pytest.mark.parametrize("overrun", ["kill", "extend"])
@pytest.mark.parametrize(
    ("choose", "decides", "dispatcher"),
    [
        (first_come, {"backfill": "none"}, "fifo"),
        (shortest, {"backfill": "none"}, "sjf"),
        (first_come, {"backfill": "easy"}, "easy"),
        (first_come, {"backfill": "easy", "behind": "sjf"}, "easy:backfill=sjf"),
        (shortest, {"backfill": "easy", "behind": "sjf"}, "easy:order=sjf"),
        (shortest, {"backfill": "easy"}, "easy:order=sjf,backfill=fifo"),
        (shortest, {"choose": "fitting", "backfill": "none"}, "greedy:order=sjf"),
        (first_come, {"choose": "fitting", "backfill": "none"}, "greedy:order=fifo"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_a_scripted_policy_starts_jobs_as_the_simulator_does(choose, decides, dispatcher, overrun):
    """Job by job, on a pool and on as many nodes of one core."""
    for seed in range(3):
        workload = drawn(seed)
        starts, *_ = played(env_of(workload, overrun=overrun, **decides), choose)
        for system in (POOL, machine(*[(1,)] * 16)):
            schedule = run(workload, system, dispatcher, overrun=overrun).schedule
            assert starts == schedule.start.tolist()


@pytest.mark.parametrize("backfill", ["none", "easy"])
@pytest.mark.parametrize("rule", ["fifo", "sjf", "ljf", "wfp3", "unicef", "f1"])
def test_a_rule_starts_jobs_as_the_simulator_does(rule, backfill):
    """One rule to choose from, and the same rule asked beside the agents."""
    workload = drawn(4)
    env = env_of(workload, action="rule", rules=(rule,), backfill=backfill)
    starts, _, measure = played(env, lambda rows, mask: 0)
    assert env.episodes.by_rule(0, rule) == pytest.approx(measure)
    if backfill == "easy":
        expected = run(workload, POOL, f"easy:order={rule}").schedule.start.tolist()
    elif rule in ("fifo", "sjf", "ljf"):
        expected = run(workload, POOL, rule).schedule.start.tolist()
    else:
        return
    assert starts == expected


def test_estimates_plan_and_are_corrected_as_in_the_simulator():
    """What a predictor says at submit: half of the requested time, so that many jobs overrun it."""
    from cpsched.model.prediction import Prediction, RuntimePredictor

    class Half(RuntimePredictor):
        name = "half"

        def predict(self, jobs, now):
            return Prediction.point(np.maximum(jobs.requested_time // 2, 1))

    workload = drawn(5)
    half = np.maximum(workload.requested_time // 2, 1)
    starts, *_ = played(env_of(workload, estimates=half), shortest)
    plain, *_ = played(env_of(workload), shortest)
    expected = run(workload, POOL, "easy:order=sjf,backfill=fifo", Half()).schedule.start
    assert starts == expected.tolist() != plain


@pytest.mark.parametrize(
    ("measure", "metric"),
    [
        ("bounded-slowdown", "bounded_slowdown_mean"),
        ("wait", "wait_mean_s"),
        ("area-weighted-response", "response_by_area_s"),
    ],
)
def test_rewards_sum_to_the_measure_of_the_simulated_run(measure, metric):
    workload = drawn(6)
    expected = run(workload, POOL, "easy").metrics[metric]
    for reward in ("dense", "end"):
        env = env_of(workload, measure=measure, reward=reward)
        _, total, measured = played(env, first_come)
        assert measured == pytest.approx(expected)
        assert total == pytest.approx(-expected)
    env = env_of(workload, measure=measure, relative_to="fifo")
    assert played(env, first_come)[1] == pytest.approx(-1.0)


@pytest.mark.parametrize("overrun", ["kill", "extend"])
@pytest.mark.parametrize("decides", [{}, {"choose": "fitting", "backfill": "none", "wait": True}])
def test_what_is_not_known_yet_is_not_shown(decides, overrun):
    """
    Jobs that have not ended by a second run otherwise, and later ones are others.

    All that is observed up to that second is the same, masks included; later things are not.
    """
    workload = drawn(7)

    def watched(variant):
        env = env_of(variant, overrun=overrun, observation="dict", **decides)
        seen, _ = env.reset(options={"first": 0})
        steps, done = [], False
        rng = np.random.default_rng(3)
        while not done:
            steps.append((env.episodes.now[0], seen, env.action_masks()))
            action = rng.choice(np.flatnonzero(env.action_masks()))
            seen, _, done, *_ = env.step(action)
        return steps, env.starts

    before, starts = watched(workload)
    now = int(workload.submit[60])
    runtime = workload.runtime
    if overrun == "kill":
        runtime = np.minimum(runtime, workload.requested_time)
    unknown = (starts + runtime > now) | (starts < 0)
    after = workload.submit > now
    # What is ended at its requested time has not reached it by then.
    longer = workload.requested_time if overrun == "kill" else workload.runtime + now + 1
    other = jobs(
        *zip(
            workload.submit.tolist(),
            np.where(after, 17 - workload.units, workload.units).tolist(),
            np.where(unknown, longer, workload.runtime).tolist(),
            np.where(after, workload.requested_time + 77, workload.requested_time).tolist(),
            strict=True,
        )
    )
    changed, _ = watched(other)
    known = sum(second <= now for second, *_ in before)
    assert 20 < known < len(before)
    for (second, seen, mask), (again, shown, possible) in zip(
        before[:known], changed, strict=False
    ):
        assert second == again
        assert (mask == possible).all()
        assert all((seen[name] == shown[name]).all() for name in seen)
    assert any(
        (seen["jobs"] != shown["jobs"]).any()
        for (_, seen, _), (_, shown, _) in zip(before[known:], changed[known:], strict=False)
    )


def test_features_by_hand():
    """A pool of four: a job of three runs to 100, one of two waits for it, one of one would fit."""
    workload = jobs((0, 3, 100), (10, 2, 50), (20, 1, 200), (30, 4, 5))
    env = env_of(workload, machine((4,)), wait=True, visible=5)
    rows, info = env.reset(options={"first": 0})
    # One job waits at second 0 and could be left waiting, were something running.
    assert info["action_mask"].tolist() == [True, *[False] * 5]
    rows, *_ = env.step(0)
    # At 10 nothing fits, which is not asked about; at 20 the third job does.
    assert env.episodes.now[0] == 20
    assert rows[:3, FITS].tolist() == [0, 1, 0]
    assert rows[0, UNTIL_FITS] == pytest.approx(np.log1p(80) / np.log1p(30 * 86400))
    assert rows[0, WAITED] == pytest.approx(np.log1p(10) / np.log1p(30 * 86400))
    assert rows[:, IS_WAIT].tolist() == [0, 0, 0, 0, 0, 1]
    assert env.action_masks().tolist() == [True, True, False, False, False, True]
    # It waits until the fourth comes, then until the first ends; the widest goes then.
    rows, *_ = env.step(5)
    assert env.episodes.now[0] == 30
    env.step(5)
    assert env.episodes.now[0] == 100
    _, _, done, *_ = env.step(2)
    assert (env.starts.tolist(), done) == ([0, -1, -1, 100], False)


def test_windows_keep_to_their_rows():
    workload = drawn(8)
    env = env_of(workload, length=10, rows=(30, 45))
    assert {env.reset(seed=seed)[1]["first"] for seed in range(40)} == set(range(30, 36))
    env = env_of(workload, length=10, starts=[3, 50])
    assert {env.reset(seed=seed)[1]["first"] for seed in range(20)} == {3, 50}


def test_masked_actions_count_as_the_first():
    workload = drawn(9)
    expected, *_ = played(env_of(workload), lambda rows, mask: 0)
    assert played(env_of(workload), lambda rows, mask: 127)[0] == expected


def test_several_kinds_of_resources_are_pools():
    """Cores and GPUs on one node, as in the simulator."""
    rng = np.random.default_rng(1)
    rows = [(9 * at, 1 + int(rng.integers(4)), int(rng.integers(1, 90))) for at in range(80)]
    gpu = rng.integers(0, 2, 80)
    request = np.stack([np.ones(80, dtype=int), gpu], axis=1)
    workload = jobs(*rows, resources=("core", "gpu"), request=request)
    system = machine((8, 5), resources=("core", "gpu"))
    starts, *_ = played(env_of(workload, system), shortest)
    expected = run(workload, system, "easy:order=sjf,backfill=fifo").schedule.start
    assert starts == expected.tolist()


@pytest.mark.shared
def test_ten_sequences_of_a_published_trace_are_as_the_simulator_has_them(shared):
    """Of RLScheduler's Table V: starts job by job in one, the mean in all as simulated elsewhere."""
    log = read_log(shared / "arena" / "lublin-1.swf.gz")
    log = log.with_columns(requested_time=np.maximum(log.runtime, 1))
    first = [1981, 2756, 4299, 8850, 3316, 2714, 5228, 7762, 4022, 7085]
    env = BatchScheduling(log, 256, starts=first, length=1024, overrun="extend", behind="sjf")
    means = {
        rule: np.mean([env.episodes.by_rule(row, rule) for row in first])
        for rule in ("fifo", "slowdown")
    }
    assert means == {
        "fifo": pytest.approx(271.40, abs=0.01),
        "slowdown": pytest.approx(72.42, abs=0.01),
    }
    starts, *_ = played(env, shortest, first[3])
    window = log.take(np.arange(first[3], first[3] + 1024))
    schedule = run(fit(window, pool_of(256)), None, "easy:order=sjf", overrun="extend").schedule
    assert starts == schedule.start.tolist()
