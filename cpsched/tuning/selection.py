"""Which of the tried settings to propose: those that are best on jobs the search has not seen."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from cpsched.tuning.settings import digest_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from cpsched.tuning.measure import Measured, Measuring
    from cpsched.tuning.parts import Parts, Window
    from cpsched.tuning.search import Trial
    from cpsched.tuning.settings import Choice, Space

#: Settings that are simulated on the validation part at a time, and at most.
_FINALISTS, _MOST_FINALISTS = 10, 30
#: Settings are alike if their mean and longest waits differ by a smaller share.
_ALIKE = 0.01
#: Share of the largest gain from which on the longest wait decides.
_NEARLY = 0.9
#: Share of the gain that must be left without the changes that hardly contribute.
_KEPT_GAIN = 0.95


def propose(
    space: Space, trials: Sequence[Trial], parts: Parts, measuring: Measuring, repeat: int
) -> tuple[list[Measured], Measured | None]:
    """
    Return the settings that were simulated on the validation part, and which of them to propose.

    These are the best of the search, and some of the changes of the best one. What is proposed is
    one of them without the changes that hardly contribute. None: none is better.
    """
    best = distinct(trials)
    fewer = fewer_changes(space, best[0].choice, parts, measuring) if best else []
    finalists, chosen = select(trials, parts, measuring, repeat, fewer)
    if chosen is not None:
        chosen = simplified(space, chosen, parts, measuring, repeat)
    return finalists, chosen


def select(
    trials: Sequence[Trial],
    parts: Parts,
    measuring: Measuring,
    repeat: int,
    fewer: Sequence[Choice] = (),
) -> tuple[list[Measured], Measured | None]:
    """
    Return the settings that were simulated on the validation part, and which of them to choose.

    These are the settings with the lowest mean waits on the search part, ten at a time, until one
    keeps all constraints and lowers the mean wait on the validation part, too. Of several the one
    with the lowest longest wait on both parts is chosen, among those that have 90 % of the largest
    gain.

    Parameters
    ----------
    fewer
        Further settings, which are simulated with the first ten.
    """
    choices = [item.choice for item in distinct(trials)]
    at_once = {digest_of(choice): choice for choice in [*choices[:_FINALISTS], *fewer]}
    finalists = measuring.measure(list(at_once.values()), parts.validation, repeat)
    chosen = _best(finalists, parts, measuring)
    rest = [choice for choice in choices[_FINALISTS:] if digest_of(choice) not in at_once]
    for at in range(0, _MOST_FINALISTS - _FINALISTS, _FINALISTS):
        if chosen is None:
            finalists += measuring.measure(rest[at : at + _FINALISTS], parts.validation, repeat)
            chosen = _best(finalists, parts, measuring)
    return finalists, chosen


def _best(finalists: Sequence[Measured], parts: Parts, measuring: Measuring) -> Measured | None:
    """Return the settings to choose of those on the validation part; None: none is better."""
    kept = [item for item in finalists if not item.broken and item.ratio < 1]
    if not kept:
        return None
    most = 1 - _NEARLY * (1 - min(item.ratio for item in kept))
    kept = [item for item in kept if item.ratio <= most]
    # They were simulated before.
    searched = measuring.measure([item.choice for item in kept], parts.search)
    early = {digest_of(item.choice): item.longest_ratio for item in searched}

    def longest(item: Measured) -> float:
        return max(item.longest_ratio, early.get(digest_of(item.choice), 0.0))

    return min(kept, key=lambda item: (longest(item), item.ratio, digest_of(item.choice)))


def distinct(trials: Sequence[Trial]) -> list[Measured]:
    """
    Return the results below the site's mean wait that keep all constraints, the lowest first.

    Of settings whose mean and longest waits are alike, those with the fewest changes stand for all.
    """
    kept = [item for trial in trials if (item := trial.kept) is not None and item.ratio < 1]
    kept.sort(key=lambda item: (item.ratio, len(item.choice), digest_of(item.choice)))
    groups: list[list[Measured]] = []
    for item in kept:
        group = next((group for group in groups if _are_alike(item, group[0])), None)
        if group is None:
            groups.append([item])
        else:
            group.append(item)
    # The first of equally many changes is the lowest.
    results = [min(group, key=lambda item: len(item.choice)) for group in groups]
    return sorted(results, key=lambda item: (item.ratio, digest_of(item.choice)))


def _are_alike(item: Measured, other: Measured) -> bool:
    pairs = ((item.ratio, other.ratio), (item.longest_ratio, other.longest_ratio))
    return all(abs(a - b) <= _ALIKE * min(a, b) for a, b in pairs)


def fewer_changes(space: Space, choice: Choice, parts: Parts, measuring: Measuring) -> list[Choice]:
    """
    Return choices with one of the changes, with two, four and so on.

    The change that contributes least to the mean wait on the search part is left out first.
    Choices that break a constraint there are left out.
    """
    fewer = [choice]
    for key in _by_contribution(space, choice, parts, measuring)[:-1]:
        fewer.append(without(space, fewer[-1], [key]))
    # Numbers with one bit.
    some = [item for item in fewer[1:] if len(item).bit_count() == 1]
    results = measuring.measure(some, parts.search)
    return [item.choice for item in results if not item.broken and item.ratio < 1]


def _by_contribution(space: Space, choice: Choice, parts: Parts, measuring: Measuring) -> list[str]:
    """
    Return the changed settings by what they contribute on the search part.

    That without which the mean wait is lowest is first.
    """
    fewer = {key: without(space, choice, [key]) for key in choice}
    results = measuring.measure(list(fewer.values()), parts.search)
    ratios = {digest_of(item.choice): item.ratio for item in results}
    return sorted(choice, key=lambda key: ratios.get(digest_of(fewer[key]), 1.0))


def simplified(
    space: Space, chosen: Measured, parts: Parts, measuring: Measuring, repeat: int
) -> Measured:
    """
    Return few of the chosen changes that give nearly the same.

    Each change is left out once, alone. Those without which nothing is lost on the search and on
    the validation part (:func:`_loss`) are then left out together, or the first half of them if
    that loses something, and so on. This is repeated until each change is needed.
    """
    # One run is compared with one run: without jitter waits are others.
    references = {
        window: measuring.measure([chosen.choice], window)[0]
        for window in (parts.validation, parts.search)
    }
    kept = chosen
    while True:
        order = _unneeded(space, kept.choice, references, measuring)
        fewer = None
        while order and fewer is None:
            choice = without(space, kept.choice, order)
            early = measuring.measure([choice], parts.search)
            if early and _loss(early[0], references[parts.search]) <= 1:
                late = measuring.measure([choice], parts.validation, repeat)
                fewer = next((item for item in late if _loss(item, chosen) <= 1), None)
            order = order[: len(order) // 2]
        if fewer is None:
            return kept
        kept = fewer


def _unneeded(
    space: Space, choice: Choice, references: Mapping[Window, Measured], measuring: Measuring
) -> list[str]:
    """Return the changes without which, one at a time, nothing is lost, the least loss first."""
    fewer = {key: without(space, choice, [key]) for key in choice}
    losses = dict.fromkeys(choice, 0.0)
    for window, reference in references.items():
        results = measuring.measure([fewer[key] for key in losses], window)
        here = {digest_of(item.choice): _loss(item, reference) for item in results}
        most = {
            key: max(loss, here.get(digest_of(fewer[key]), inf)) for key, loss in losses.items()
        }
        losses = {key: loss for key, loss in most.items() if loss <= 1}
    return sorted(losses, key=losses.__getitem__)


def _loss(item: Measured, chosen: Measured) -> float:
    """
    Return what settings lose of what the chosen ones give on the same jobs; at most 1: nothing.

    This is the largest ratio of a wait to its limit: of the mean wait to that with 95 % of the
    gain, of the longest wait to the larger one of the site's and the chosen settings' and 1 % more,
    and of what breaks a constraint to what the chosen ones break in the same run.
    """
    most = 1 - _KEPT_GAIN * (1 - chosen.ratio)
    longest = max(1.0, chosen.longest_ratio) * (1 + _ALIKE)
    broken = (1 + item.excess) / (1 + chosen.excess)
    return max(item.ratio / most, item.longest_ratio / longest, broken)


def without(space: Space, choice: Choice, keys: Collection[str]) -> Choice:
    """Return a choice without the changes of settings, and what has no effect without them."""
    return space.changed({key: value for key, value in choice.items() if key not in keys})
