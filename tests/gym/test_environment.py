"""The environments keep the contracts of Gymnasium and of MaskablePPO."""

import re
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from episodes import POOL, drawn, env_of, played
from gymnasium.utils.env_checker import check_env

from cpsched.errors import ConfigError
from cpsched.gym.environment import BatchScheduling
from cpsched.gym.policy import load
from cpsched.gym.vector import BatchSchedulingVector
from cpsched.systems.mapping import fit
from cpsched.util import resources

NAME = "cpsched.gym:BatchScheduling-v0"


@pytest.mark.parametrize(
    "decides",
    [
        {},
        {"observation": "dict", "wait": True, "visible": 16},
        {"action": "rule", "observation": "dict"},
        {"choose": "fitting", "backfill": "none", "wait": True, "relative_to": "sjf"},
    ],
)
def test_gymnasium_finds_nothing_wrong(decides):
    """Made by name, with a window drawn from a part of a log on a number of processors."""
    env = gymnasium.make(NAME, log=drawn(1), system=16, length=20, rows=(10, 60), **decides)
    check_env(env.unwrapped, skip_render_check=True)
    assert env.spec.id == "BatchScheduling-v0"


def test_a_bundled_log_is_played_by_name():
    """A log and a machine as everywhere else; its nodes count as one pool."""
    log = resources.path("logs", "eurora-sample.csv.gz")
    env = gymnasium.make(NAME, log=str(log), system="eurora", rows=(0, 400), length=300)
    env.reset(seed=3)
    done, number = False, 0
    while not done:
        _, _, done, _, info = env.step(0)
        number += 1
    assert number > 0
    assert info["measure"] >= 1


def test_many_environments_do_what_single_ones_do():
    """Each with its own window, and the next window in the step in which one ends."""
    workload = drawn(2)
    many = gymnasium.make_vec(
        NAME,
        num_envs=3,
        vectorization_mode="vector_entry_point",
        log=workload,
        system=16,
        length=30,
        behind="sjf",
    )
    assert isinstance(many.unwrapped, BatchSchedulingVector)
    first = np.array([0, 40, 85])
    single = env_of(workload, length=30, behind="sjf")
    expected = {int(row): played(single, lambda rows, mask: 0, int(row)) for row in first}
    rows, info = many.reset(seed=5, options={"first": first})
    assert many.observation_space.contains(rows)
    assert info["action_mask"].shape == (3, 128)
    total, left = np.zeros(3), {0, 1, 2}
    while left:
        rows, rewards, done, cut, info = many.step(np.zeros(3, dtype=np.int64))
        assert not cut.any()
        total += rewards
        for e in left & set(np.flatnonzero(done).tolist()):
            assert total[e] == pytest.approx(expected[int(first[e])][1])
            assert info["final_info"]["measure"][e] == pytest.approx(expected[int(first[e])][2])
            assert info["final_info"]["first"][e] == first[e]
            assert not info["final_obs"][e].any()
            assert rows[e].any()
            left.discard(e)


def test_equal_seeds_are_equal_episodes():
    def seen(seed):
        many = BatchSchedulingVector(drawn(3), POOL, num_envs=4, length=15)
        rows, info = many.reset(seed=seed)
        shown = [rows]
        for _ in range(60):
            rows, *_, info = many.step(info["action_mask"].argmax(axis=1))
            shown.append(rows)
        return np.stack(shown)

    assert (seen(1) == seen(1)).all()
    assert (seen(1) != seen(2)).any()


def test_some_of_many_begin_anew():
    many = BatchSchedulingVector(drawn(3), POOL, num_envs=3, length=15)
    many.reset(seed=0, options={"first": [0, 0, 0]})
    which = np.array([False, True, False])
    many.reset(options={"first": [9, 9, 9], "reset_mask": which})
    assert many.episodes.windows.tolist() == [0, 9, 0]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"system": None}, "system: is missing"),
        ({"rows": (0, 10)}, "rows: is 0 to 10, must be in 0 to 120 and have 50 jobs"),
        ({"rows": (0, 60), "starts": [1]}, "rows: cannot be combined with starts"),
        ({"starts": [71]}, "starts: must be rows from 0 to 70"),
        ({"length": 121}, "length.*121"),
        ({"measure": "cake"}, "measure.*cake"),
        ({"reward": "cake"}, "reward.*cake"),
        ({"relative_to": "cake"}, "relative_to.*cake"),
        ({"observation": "cake"}, "observation.*cake"),
        ({"overrun": "cake"}, "overrun.*cake"),
        ({"rules": ()}, "rules: is empty"),
        (
            {"action": "rule", "wait": True},
            "action: 'rule' cannot be combined with wait or choose=fitting",
        ),
        ({"choose": "fitting"}, "backfill: 'easy' backfills behind"),
        ({"visible": 1}, "visible.*1"),
        ({"estimates": [1, 2]}, "estimates: has shape"),
    ],
)
def test_options_that_cannot_be_are_refused(given, message):
    given = {"system": POOL, "length": 50, **given}
    with pytest.raises(ConfigError, match=message):
        env_of(drawn(4), **given)


def test_a_machine_is_given_once_and_a_window_lies_in_the_log():
    fitted = fit(drawn(5), POOL)
    with pytest.raises(ConfigError, match="system: is given twice"):
        BatchScheduling(fitted, POOL, length=10)
    env = BatchScheduling(fitted, length=10)
    with pytest.raises(ConfigError, match="first: is 111, must be from 0 to 110"):
        env.reset(options={"first": 111})


def test_the_guide_runs_as_it_stands(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    guide = Path(__file__).parents[2] / "docs" / "guides" / "reinforcement-learning.md"
    for block in re.findall(r"```python\n(.*?)```", guide.read_text(), re.DOTALL):
        exec(compile(block, "typed.py", "exec"), {})
    assert float(capsys.readouterr().out) >= 1
    assert load(tmp_path / "shortest.zip").options.behind == "sjf"
