"""Which of the tried settings is proposed."""

from types import SimpleNamespace

import pytest

from cpsched.tuning.selection import distinct, fewer_changes, select, simplified
from cpsched.tuning.settings import Setting, Space

PARTS = SimpleNamespace(search="search", validation="validation")


def result(choice, ratio, longest=1.0, broken=False):
    """Return a result that a window would give."""
    return SimpleNamespace(
        choice=choice, ratio=ratio, longest_ratio=longest, broken=("it",) if broken else (),
        excess=0.1 * broken,
    )  # fmt: skip


def space_of(keys):
    return Space.of([Setting(key=key, values=("0", "1"), current="0") for key in keys])


class Windows:
    """Gives the result of a choice on a window, and counts them."""

    def __init__(self, result_of):
        self.measured = []
        self._result_of = result_of

    def measure(self, choices, window, repeat=1):
        results = [self._result_of(choice, window) for choice in choices if choice]
        self.measured += [(item.choice, window) for item in results]
        return results


def trial_of(name, ratio, longest=1.0):
    """Return a trial that keeps all constraints on the search part."""
    return SimpleNamespace(kept=result({"x": name}, ratio, longest))


@pytest.mark.parametrize(
    ("broken", "chosen", "number"),
    [("", "a", 10), ("a", "b", 10), ("abcdefghij", "k", 12), ("abcdefghijkl", None, 12)],
)
def test_the_lowest_finalist_that_keeps_all_constraints_is_chosen(broken, chosen, number):
    """Ten at a time, those first that were lowest on the search part."""
    names = "abcdefghijkl"
    ratios = {name: 0.3 + at / 20 for at, name in enumerate(names)}
    windows = Windows(
        lambda choice, _: result(choice, ratios[choice["x"]], broken=choice["x"] in broken)
    )
    trials = [trial_of(name, ratios[name]) for name in reversed(names)]
    trials += [trial_of("worse", 1.2), SimpleNamespace(kept=None)]
    finalists, best = select(trials, PARTS, windows, 2)
    assert (best and best.choice["x"]) == chosen
    assert len(finalists) == number
    assert sum(window == "validation" for _, window in windows.measured) == number


@pytest.mark.parametrize(
    ("longest", "chosen"),
    [
        # The gains of a, b and c are 50, 46 and 40 %: c has less than nine tenths of it.
        ({"a": (1.1, 1.1), "b": (1.0, 1.0), "c": (0.5, 0.5)}, "b"),
        # The longest wait on the search part counts, too.
        ({"a": (1.1, 1.1), "b": (1.2, 0.9), "c": (0.5, 0.5)}, "a"),
    ],
)
def test_among_finalists_of_nearly_equal_gain_the_longest_wait_decides(longest, chosen):
    ratios = {"a": 0.5, "b": 0.54, "c": 0.6}
    windows = Windows(
        lambda choice, window: result(
            choice, ratios[choice["x"]], longest[choice["x"]][window == "validation"]
        )
    )
    trials = [trial_of(name, ratio) for name, ratio in ratios.items()]
    assert select(trials, PARTS, windows, 2)[1].choice["x"] == chosen


def test_no_finalist_above_the_sites_own_mean_wait_is_chosen():
    windows = Windows(lambda choice, _: result(choice, 1.1))
    assert select([trial_of("a", 0.9)], PARTS, windows, 2)[1] is None


@pytest.mark.parametrize(("longest", "kept"), [(1.09, {"x", "y"}), (1.0, {"x"})])
def test_the_longest_wait_does_not_rise_above_the_sites_by_leaving_changes_out(longest, kept):
    """Without y it is longer than with it, but not longer than today."""
    windows = Windows(
        lambda choice, _: result(
            choice, 0.5 if "x" in choice else 1, 0.8 if "y" in choice else longest
        )
    )
    chosen = result(dict.fromkeys("xy", "1"), 0.5, 0.8)
    assert set(simplified(space_of("xy"), chosen, PARTS, windows, 2).choice) == kept


def test_the_best_of_the_search_are_finalists_beside_settings_with_fewer_changes():
    keys = [f"x{number}" for number in range(12)]
    windows = Windows(lambda choice, _: result(choice, 1 - len(choice) / 20))
    best = dict.fromkeys(keys, "1")
    fewer = fewer_changes(space_of(keys), best, PARTS, windows)
    assert [len(choice) for choice in fewer] == [8, 4, 2, 1]
    trials = [SimpleNamespace(kept=result(best, 0.4)), SimpleNamespace(kept=result(fewer[0], 0.6))]
    finalists, chosen = select(trials, PARTS, windows, 2, fewer)
    assert [len(item.choice) for item in finalists] == [12, 8, 4, 2, 1]
    assert chosen.choice == best


def test_settings_with_fewer_changes_are_finalists_too():
    windows = Windows(lambda choice, _: result(choice, 0.5, broken="y" in choice))
    both = SimpleNamespace(kept=result({"x": "1", "y": "1"}, 0.5))
    assert select([both], PARTS, windows, 2)[1] is None
    assert select([both], PARTS, windows, 2, [{"x": "1"}])[1].choice == {"x": "1"}


def test_changes_are_left_out_from_the_least_to_the_most_important():
    """The gain is 0.1 by w, 0.2 by x and 0.3 by y; x alone breaks a constraint."""
    gains = {"w": 0.1, "x": 0.2, "y": 0.3}
    windows = Windows(
        lambda choice, _: result(
            choice, 1 - sum(gains[key] for key in choice), broken=set(choice) == {"x", "y"}
        )
    )
    choices = fewer_changes(space_of("wxy"), dict.fromkeys("wxy", "1"), PARTS, windows)
    assert [set(choice) for choice in choices] == [{"y"}]
    assert {window for _, window in windows.measured} == {"search"}


def test_alike_settings_are_one_finalist_that_with_the_fewest_changes():
    results = [
        result({"x": "1", "y": "1"}, 0.500),
        result({"x": "1"}, 0.504),
        result({"z": "1"}, 0.504, longest=0.5),
        result({"w": "1"}, 0.52),
    ]
    kept = distinct([SimpleNamespace(kept=item) for item in results])
    assert [dict(item.choice) for item in kept] == [{"x": "1"}, {"z": "1"}, {"w": "1"}]
    # Alike are those of the lowest, not one after the other.
    close = [result({"xyz"[at]: "1"}, ratio) for at, ratio in enumerate((0.5, 0.5045, 0.509))]
    kept = distinct([SimpleNamespace(kept=item) for item in close])
    assert [item.ratio for item in kept] == [0.5, 0.509]


@pytest.mark.parametrize(("alone_broken", "number"), [(False, 1), (True, 2)])
def test_changes_that_contribute_nothing_are_left_out_if_constraints_allow_it(alone_broken, number):
    windows = Windows(
        lambda choice, _: result(
            choice, 0.5 if "x" in choice else 1.0, broken=alone_broken and list(choice) == ["x"]
        )
    )
    chosen = result(dict.fromkeys("wxyz", "1"), 0.5)
    kept = simplified(space_of("wxyz"), chosen, PARTS, windows, 2).choice
    assert "x" in kept
    assert len(kept) == number


def test_a_change_without_an_effect_is_not_added_before_one_that_is_needed():
    """Only x and y together are better; y alone makes the mean wait longer, and z has no effect."""
    ratios = {"x": 1.1, "y": 1.2, "xy": 0.5}

    def result_of(choice, _):
        return result(choice, ratios.get("".join(sorted(set(choice) & set("xy"))), 1.0))

    chosen = result(dict.fromkeys("xyz", "1"), 0.5)
    kept = simplified(space_of("xyz"), chosen, PARTS, Windows(result_of), 2).choice
    assert set(kept) == {"x", "y"}


def test_a_change_that_only_shortens_the_longest_wait_comes_before_one_that_shortens_the_mean():
    """With x the mean wait is low enough, and y shortens the longest one, as z and w do not."""
    windows = Windows(
        lambda choice, _: result(
            choice,
            (0.5 if "x" in choice else 1.0) + 0.01 * ("y" in choice) - 0.001 * len(choice),
            1.0 if "y" in choice else 1.1,
        )
    )
    chosen = result(dict.fromkeys("wxyz", "1"), 0.506)
    assert set(simplified(space_of("wxyz"), chosen, PARTS, windows, 2).choice) == {"x", "y"}


def test_a_change_without_an_effect_is_left_out_though_jitter_shortens_waits():
    """One run without jitter gives a longer mean wait than the repetitions."""

    class Jittered(Windows):
        def measure(self, choices, window, repeat=1):
            results = super().measure(choices, window, repeat)
            for item in results:
                item.ratio *= 1 if repeat > 1 else 1.2
            return results

    windows = Jittered(lambda choice, _: result(choice, 0.5 if "x" in choice else 1.0))
    chosen = result(dict.fromkeys("xyz", "1"), 0.5)
    assert set(simplified(space_of("xyz"), chosen, PARTS, windows, 2).choice) == {"x"}


@pytest.mark.parametrize("window", ["search", "validation"])
def test_fewer_changes_are_enough_only_if_they_keep_all_constraints_on_both_parts(window):
    windows = Windows(
        lambda choice, of: result(
            choice, 0.5 if "x" in choice else 1.0, broken=list(choice) == ["x"] and of == window
        )
    )
    chosen = result(dict.fromkeys("wxy", "1"), 0.5)
    assert len(simplified(space_of("wxy"), chosen, PARTS, windows, 2).choice) == 2


def test_changes_are_left_out_while_most_of_the_gain_is_left():
    """Each of thirty changes lowers the mean wait by a sixtieth of the site's: one may go."""
    keys = [f"x{number}" for number in range(30)]
    windows = Windows(lambda choice, _: result(choice, 1 - len(choice) / 60))
    chosen = result(dict.fromkeys(keys, "1"), 0.5)
    assert len(simplified(space_of(keys), chosen, PARTS, windows, 2).choice) == 29
