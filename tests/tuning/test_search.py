"""Proposals of settings: deterministic, and stopped early where they are not promising."""

from types import SimpleNamespace

import pytest

from cpsched.tuning.search import RANDOM, SAMPLERS, search
from cpsched.tuning.settings import Setting, Space

pytest.importorskip("optuna")

SPACE = Space.of(
    [
        Setting(key="x", values=tuple(map(str, range(10))), current="0"),
        Setting(key="y", values=tuple(map(str, range(10))), current="0"),
    ]
)


class Bowl:
    """The mean wait is lowest at x = 7, y = 3; y above 6 breaks a constraint."""

    def __init__(self):
        self.calls = []

    def measure(self, choices, window):
        self.calls.append((window, len(choices)))
        return [self._of(choice) for choice in choices]

    def _of(self, choice):
        x, y = (int(choice.get(key, 0)) for key in "xy")
        ratio = 0.4 + ((x - 7) ** 2 + (y - 3) ** 2) / 100
        excess = max(0.0, (y - 6) / 10)
        return SimpleNamespace(choice=choice, ratio=ratio, excess=excess, broken=excess > 0)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_equal_seeds_give_equal_trials(sampler):
    def tried(seed):
        trials = search(SPACE, Bowl(), ("short", "long"), trials=10, sampler=sampler, seed=seed)
        return [(trial.choice, trial.complete) for trial in trials]

    assert tried(3) == tried(3)
    assert tried(3) != tried(4)


def test_most_settings_after_the_random_ones_never_see_the_long_window():
    bowl = Bowl()
    trials = search(SPACE, bowl, ("short", "long"), trials=60, sampler="random", seed=1)
    assert len(trials) == RANDOM + 60
    random, others = trials[:RANDOM], trials[RANDOM:]
    assert all(trial.complete for trial in random if trial.choice)
    assert sum(trial.complete for trial in others) < 30
    on_long = sum(number for window, number in bowl.calls if window == "long")
    assert on_long == sum(len(trial.windows) == 2 for trial in trials)


def test_every_sampler_begins_with_the_same_random_settings():
    def first(sampler):
        trials = search(SPACE, Bowl(), ("short",), trials=1, sampler=sampler, seed=2)
        return [trial.choice for trial in trials[:RANDOM]]

    assert first("tpe") == first("random")


def test_a_setting_much_worse_than_the_best_so_far_is_stopped():
    trials = search(SPACE, Bowl(), ("short", "long"), trials=40, sampler="random", seed=1)
    lowest = min(trial.kept.ratio for trial in trials[:RANDOM] if trial.kept)
    complete = [trial for trial in trials[RANDOM:] if trial.complete]
    assert complete
    assert all(trial.windows[0].ratio <= lowest * 1.1 for trial in complete)


def test_settings_that_break_a_constraint_stop_no_others():
    class LowIfBroken(Bowl):
        def _of(self, choice):
            result = super()._of(choice)
            result.broken = int(choice.get("y", 0)) > 2
            result.excess = 0.1 if result.broken else 0.0
            result.ratio = 0.1 if result.broken else 0.9 - int(choice.get("x", 0)) / 100
            return result

    trials = search(SPACE, LowIfBroken(), ("short", "long"), trials=20, sampler="random", seed=1)
    assert any(trial.kept for trial in trials[RANDOM:])


def test_a_change_without_effect_is_stopped():
    class NoEffect(Bowl):
        def _of(self, choice):
            result = super()._of(choice)
            result.ratio = 1.0 if list(choice) == ["y"] else result.ratio
            return result

    trials = search(SPACE, NoEffect(), ("short", "long"), trials=20, sampler="tpe", seed=1)
    alone = [trial for trial in trials[RANDOM:] if list(trial.choice) == ["y"]]
    assert alone
    assert not any(trial.complete for trial in alone)


def test_changes_of_one_setting_follow_the_random_ones():
    trials = search(SPACE, Bowl(), ("short",), trials=8, sampler="tpe", seed=1)
    single = [trial.choice for trial in trials[RANDOM : RANDOM + 4]]
    assert single == [{"x": "1"}, {"y": "1"}, {"x": "2"}, {"y": "2"}]


def test_the_sampler_finds_lower_waits_than_chance():
    def lowest(sampler):
        trials = search(SPACE, Bowl(), ("short",), trials=40, sampler=sampler, seed=5)
        return sum(sorted(trial.windows[-1].ratio for trial in trials if trial.windows)[:10])

    assert lowest("tpe") < lowest("random")


def test_the_sites_own_settings_need_no_simulation():
    space = Space.of([Setting(key="x", values=("0", "1"), current="0")])
    bowl = Bowl()
    trials = search(space, bowl, ("short",), trials=4, sampler="random", seed=1)
    own = [trial for trial in trials if not trial.choice]
    assert own
    assert all(not trial.windows for trial in own)
    assert sum(n for _, n in bowl.calls) == len(trials) - len(own)


def test_progress_counts_the_tried_settings():
    counts = []
    search(SPACE, Bowl(), ("short",), trials=6, sampler="random", seed=1, progress=counts.append)
    assert counts == [0, 4, 8, 12, 16, 20, 24]
