"""Episodes and observations of the native core, with worked numbers."""

import math

import numpy as np
import pytest

from cpsched import _core
from cpsched.gym.features import FEATURES
from cpsched.gym.options import MEASURES, RULES, Options

LONGEST = math.log1p(30 * 86400)


def ints(*values):
    return np.array(values, dtype=np.int64)


def pool_of(*rows, total=(4,)):
    """Jobs of (submit, processors, runtime) that request what they run."""
    submit, demand, runtime = (ints(*column) for column in zip(*rows, strict=True))
    return _core.PoolJobs(
        submit, runtime, runtime, np.maximum(runtime, 1), demand[:, None], ints(*total)
    )


def episodes_of(jobs, num=1, *, relative_to=None, is_dense=True, **decides):
    return _core.Episodes(
        jobs,
        Options(**decides).native("wait"),
        num_episodes=num,
        length=len(jobs),
        shows_system=True,
        is_dense=is_dense,
        relative_to=relative_to,
    )


def test_one_row_by_hand():
    """Two of four cores are free; a job of three waits for 90 s until one of two ends in 60 s."""
    rows = _core.observed_jobs(
        now=100,
        shown=ints(1),
        submit=ints(0, 10),
        estimate=ints(5, 200),
        demand=ints(1, 3)[:, None],
        total=ints(4),
        free=ints(2),
        num_waiting=2,
        expected_end=ints(160, 300),
        released=ints(1, 1)[:, None],
        num_rows=3,
        may_wait=True,
    )
    expected = {
        "is_job": 1,
        "is_wait": 0,
        "waited": math.log1p(90) / LONGEST,
        "estimate": math.log1p(200) / LONGEST,
        "share": 0.75,
        "fits": 0,
        "share_of_free": 1,
        "slowdown": math.log(290 / 200) / math.log(10_000),
        "until_fits": math.log1p(60) / LONGEST,
        "area": math.log1p(150) / LONGEST,
        "free": 0.5,
        "queue": 2 / 66,
    }
    assert dict(zip(FEATURES, rows[0].tolist(), strict=True)) == pytest.approx(expected)
    assert not rows[1].any()
    waits = {"is_wait": 1, "free": 0.5, "queue": 2 / 66, "until_fits": math.log1p(60) / LONGEST}
    shown = dict(zip(FEATURES, rows[2].tolist(), strict=True))
    assert shown == pytest.approx(dict.fromkeys(FEATURES, 0) | waits)


def test_the_system_by_hand():
    """At second 1 one of four cores is busy until 901: it is free after an hour."""
    episodes = episodes_of(pool_of((1, 1, 900), (1, 4, 50), (1, 2, 10)))
    episodes.begin(ints(0), ints(0))
    rewards, done = episodes.step(ints(0))
    assert (rewards.tolist(), done.tolist()) == ([0], [0])
    expected = [0.75, 2 / 66, 1 / 65, 0.75, 1, 1, 1]
    assert episodes.system[0].tolist() == pytest.approx(expected)
    # The last starts behind the second, which waits for 900 s; both have started then.
    rewards, done = episodes.step(ints(0))
    assert (rewards.tolist(), done.tolist()) == ([-300], [1])
    assert episodes.starts(0).tolist() == [1, 901, 1]
    assert (episodes.cost.tolist(), episodes.now.tolist()) == ([300], [951])


@pytest.mark.parametrize(
    ("rule", "key"),
    [
        ("fifo", 0),
        ("sjf", 50),
        ("ljf", -50),
        ("slowdown", -(100 + 50) / 50),
        ("wfp3", -(2**3) * 4),
        ("unicef", -100 / (2 * 50)),
        ("f1", math.log10(50) * 4 + 870 * math.log10(1000)),
        ("smallest-area", 200),
    ],
)
def test_keys_by_hand(rule, key):
    """A job of four processors and 50 s, submitted at 1000, at second 1100."""
    keys = _core.rule_keys(RULES[rule], ints(1000), ints(50), ints(4)[:, None], 1100)
    assert keys.tolist() == pytest.approx([key])


def test_serial_jobs_that_have_waited_go_first_by_unicef():
    keys = _core.rule_keys(
        RULES["unicef"], ints(0, 9, 10), ints(5, 5, 5), ints(8, 1, 1)[:, None], 10
    )
    assert np.argsort(keys).tolist() == [1, 0, 2]
    assert keys[2] == 0


def test_rewards_may_come_at_the_end_and_relative_to_a_rule():
    rows = (0, 4, 100), (1, 4, 50), (2, 4, 10)
    for is_dense in (True, False):
        for relative_to, total in ((None, -(99 + 148) / 3), (RULES["sjf"], -247 / 207)):
            episodes = episodes_of(pool_of(*rows), is_dense=is_dense, relative_to=relative_to)
            episodes.begin(ints(0), ints(0))
            rewards, done = [], [False]
            while not done[0]:
                paid, done = episodes.step(ints(0))
                rewards.append(float(paid[0]))
            assert sum(rewards) == pytest.approx(total)
            assert is_dense or not any(rewards[:-1])
    assert episodes.by_rule(0, RULES["sjf"]) == pytest.approx((98 + 109) / 3)


def test_an_action_that_is_not_possible_counts_as_the_first():
    jobs = pool_of((0, 1, 9), (0, 1, 8), (0, 1, 7))
    for action in (-5, 2, 128, 2**60):
        episodes = episodes_of(jobs, wait=True, visible=2)
        episodes.begin(ints(0), ints(0))
        episodes.step(ints(action))
        assert episodes.starts(0).tolist() == [0, -1, -1]
        # Nothing else may be chosen than these two, and to wait.
        assert episodes.mask.tolist() == [[True, True, True]]


def test_what_is_shown_is_a_view_that_nobody_writes_to():
    episodes = episodes_of(pool_of((0, 1, 9), (0, 1, 8)), 2)
    rows, mask = episodes.rows, episodes.mask
    assert rows.shape == (2, 128, len(FEATURES))
    episodes.begin(ints(1), ints(0))
    assert mask.sum(axis=1).tolist() == [0, 2]
    assert rows[1, :2, 0].tolist() == [1, 1]
    for view in (rows, mask, episodes.system):
        with pytest.raises(ValueError, match="read-only"):
            view[0] = 0
    del episodes
    assert rows[1, 0, 0] == 1


def test_arguments_that_do_not_belong_together_are_refused():
    jobs = pool_of((0, 1, 9), (0, 1, 8))
    episodes = episodes_of(jobs, 2)
    with pytest.raises(ValueError, match="an action for each episode"):
        episodes.step(ints(0))
    with pytest.raises(ValueError, match="there is no such episode"):
        episodes.begin(ints(2), ints(0))
    with pytest.raises(ValueError, match="a window must lie in the log"):
        episodes.begin(ints(0), ints(1))
    with pytest.raises(ValueError, match="a window must lie in the log"):
        episodes.by_rule(-1, 0)
    with pytest.raises(ValueError, match="no rule has this number"):
        episodes.by_rule(0, len(RULES))
    with pytest.raises(ValueError, match="no job may need more than there is"):
        pool_of((0, 5, 9))
    options = dict.fromkeys(("by_rule", "only_fitting", "may_wait", "backfills"), False)
    with pytest.raises(ValueError, match="no measure has this number"):
        _core.EpisodeOptions(**options, behind=0, rules=[0], visible=2, measure=len(MEASURES))


def test_an_array_that_is_too_long_is_out_of_memory():
    """It used to be a ValueError: "cannot create std::vector larger than max_size()"."""
    decides = dict.fromkeys(("by_rule", "only_fitting", "may_wait", "backfills"), False)
    options = _core.EpisodeOptions(**decides, behind=0, rules=[0], visible=2**60, measure=0)
    with pytest.raises(MemoryError):
        _core.Episodes(
            pool_of((0, 1, 5)), options, num_episodes=1, length=1, shows_system=True,
            is_dense=True, relative_to=None,
        )  # fmt: skip
