"""Proposals of settings: deterministic, and stopped early where they are not promising."""

from types import SimpleNamespace

import pytest

from cpsched.tuning.search import RANDOM, SAMPLERS, search
from cpsched.tuning.settings import Setting, Space

pytest.importorskip("optuna")

SPACE = Space.of(
    [
        Setting(key="x", values=tuple(map(str, range(20))), current="0"),
        Setting(key="y", values=tuple(map(str, range(20))), current="0"),
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

    assert first("tpe") == first("random") == first("local")


def test_a_setting_much_worse_than_the_best_so_far_is_stopped():
    trials = search(SPACE, Bowl(), ("short", "long"), trials=40, sampler="random", seed=1)
    lowest = min(trial.kept.ratio for trial in trials[:RANDOM] if trial.kept)
    complete = [trial for trial in trials[RANDOM:] if trial.complete]
    assert complete
    assert all(trial.windows[0].ratio <= lowest * 1.05 for trial in complete)


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
            result.ratio = 1.0 if int(choice.get("y", 0)) % 2 else result.ratio
            return result

    trials = search(SPACE, NoEffect(), ("short", "long"), trials=20, sampler="local", seed=1)
    without = [trial for trial in trials[RANDOM:] if int(trial.choice.get("y", 0)) % 2]
    assert without
    assert not any(trial.complete for trial in without)


def test_settings_that_give_the_schedule_of_the_best_are_stopped():
    class OnlyX(Bowl):
        """What y is makes no difference."""

        def _of(self, choice):
            return super()._of({key: value for key, value in choice.items() if key == "x"})

        def measure(self, choices, window):
            results = super().measure(choices, window)
            for result, choice in zip(results, choices, strict=True):
                result.choice = choice
            return results

    trials = search(SPACE, OnlyX(), ("short", "long"), trials=40, sampler="local", seed=1)
    best = min(trial.kept.ratio for trial in trials if trial.kept)
    alike = [trial for trial in trials[RANDOM:] if trial.windows[0].ratio == best]
    assert len(alike) > sum(trial.complete for trial in alike)


def test_settings_higher_than_the_sites_are_no_best_ones():
    class HandTuned(Bowl):
        def _of(self, choice):
            result = super()._of(choice)
            result.ratio = 1.2 + len(choice) / 10
            return result

    trials = search(SPACE, HandTuned(), ("short", "long"), trials=12, sampler="local", seed=1)
    near_best = trials[RANDOM::4]
    assert all(len(trial.choice) == 1 for trial in near_best)
    assert not any(trial.complete for trial in trials[RANDOM:])


def test_settings_that_cannot_be_simulated_are_left_out():
    class Failing(Bowl):
        def measure(self, choices, window):
            results = super().measure(choices, window)
            return [result for result in results if result.choice.get("x") != "7"]

    trials = search(SPACE, Failing(), ("short", "long"), trials=60, sampler="local", seed=1)
    failed = [trial for trial in trials if trial.failed]
    assert failed
    assert all(trial.choice["x"] == "7" and not trial.complete for trial in failed)
    assert any(trial.kept for trial in trials[RANDOM:])


def test_two_of_four_change_one_setting_of_the_best_so_far_and_of_the_sites():
    trials = search(SPACE, Bowl(), ("short",), trials=20, sampler="tpe", seed=1)
    for at in range(RANDOM, len(trials), 4):
        kept = [trial for trial in trials[:at] if trial.kept]
        best = min(kept, key=lambda trial: trial.kept.ratio).choice
        near_best, near_site = (trial.choice for trial in trials[at : at + 2])
        assert sum(near_best.get(key, "0") != best.get(key, "0") for key in "xy") == 1
        assert len(near_site) == 1


def test_other_settings_change_some_of_the_sites_from_one_to_all():
    space = Space.of(
        [Setting(key=key, values=tuple("0123456789"), current="0") for key in "abcdefghxy"]
    )
    trials = search(space, Bowl(), ("short",), trials=120, sampler="local", seed=1)
    numbers = [len(trial.choice) for trial in trials[RANDOM + 2 :: 4] + trials[RANDOM + 3 :: 4]]
    assert min(numbers) < 3
    assert max(numbers) > 8


def test_the_sites_own_settings_are_changed_as_long_as_nothing_keeps_all_constraints():
    class AllBroken(Bowl):
        def _of(self, choice):
            result = super()._of(choice)
            result.broken, result.excess = True, 0.1
            return result

    trials = search(SPACE, AllBroken(), ("short",), trials=4, sampler="local", seed=1)
    assert [len(trial.choice) for trial in trials[RANDOM : RANDOM + 2]] == [1, 1]


def test_the_sampler_finds_lower_waits_than_chance():
    def lowest(sampler):
        trials = search(SPACE, Bowl(), ("short",), trials=40, sampler=sampler, seed=5)
        return sum(sorted(trial.windows[-1].ratio for trial in trials if trial.windows)[:10])

    assert lowest("tpe") < lowest("random")
    assert lowest("local") < lowest("random")


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_no_settings_are_tried_twice_and_a_search_ends_when_all_were(sampler):
    space = Space.of(
        [Setting(key=key, values=tuple(map(str, range(6))), current="0") for key in "xy"]
    )
    trials = search(space, Bowl(), ("short",), trials=100, sampler=sampler, seed=1)
    choices = [tuple(trial.choice.items()) for trial in trials]
    assert len(set(choices)) == len(choices) <= space.size - 1
    assert () not in choices
    assert len(choices) > 25


def test_progress_counts_the_tried_settings():
    counts = []
    search(SPACE, Bowl(), ("short",), trials=6, sampler="random", seed=1, progress=counts.append)
    assert counts == [0, 4, 8, 12, 16, 20, 24]
