"""Which of the tried settings to propose: those that are best on jobs the search has not seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpsched.tuning.settings import digest_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.tuning.measure import Measured, Measuring
    from cpsched.tuning.parts import Parts
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
        fewer.append(without(space, fewer[-1], key))
    # Numbers with one bit.
    some = [item for item in fewer[1:] if len(item).bit_count() == 1]
    results = measuring.measure(some, parts.search)
    return [item.choice for item in results if not item.broken and item.ratio < 1]


def simplified(
    space: Space, chosen: Measured, parts: Parts, measuring: Measuring, repeat: int
) -> Measured:
    """
    Return the fewest of the chosen changes that give nearly the same.

    Changes are added one after the other, that first which gives the lowest mean wait on the
    validation part. They are enough as soon as all constraints are kept, 95 % of the gain is there
    and the longest wait is not above the site's and the chosen settings' by 1 %, on the search and
    on the validation part.
    """
    (searched,) = measuring.measure([chosen.choice], parts.search)
    some: Choice = {}
    while len(some) < len(chosen.choice) - 1:
        more = [space.changed({**some, key: value}) for key, value in chosen.choice.items()]
        # A change may have no effect without another one.
        longer = [choice for choice in more if len(choice) > len(some)]
        results = measuring.measure(longer, parts.validation)
        results.sort(key=lambda item: (item.ratio, digest_of(item.choice)))
        if not results:
            break
        for item in results:
            # One run costs less than the repetitions.
            if not _is_as_good(item, chosen):
                continue
            early = measuring.measure([item.choice], parts.search)
            late = measuring.measure([item.choice], parts.validation, repeat)
            if early and late and _is_as_good(early[0], searched) and _is_as_good(late[0], chosen):
                return late[0]
        some = results[0].choice
    return chosen


def _is_as_good(item: Measured, chosen: Measured) -> bool:
    """Return whether settings keep nearly all that the chosen ones give, on the same jobs."""
    most = 1 - _KEPT_GAIN * (1 - chosen.ratio)
    is_longer = item.longest_ratio > max(1.0, chosen.longest_ratio) * (1 + _ALIKE)
    return not item.broken and item.ratio <= most and not is_longer


def _by_contribution(space: Space, choice: Choice, parts: Parts, measuring: Measuring) -> list[str]:
    """
    Return the changed settings by what they contribute on the search part.

    That without which the mean wait is lowest is first.
    """
    fewer = {key: without(space, choice, key) for key in choice}
    results = measuring.measure(list(fewer.values()), parts.search)
    ratios = {digest_of(item.choice): item.ratio for item in results}
    return sorted(choice, key=lambda key: ratios.get(digest_of(fewer[key]), 1.0))


def without(space: Space, choice: Choice, key: str) -> Choice:
    """Return a choice without the change of a setting, and what has no effect without it."""
    return space.changed({other: value for other, value in choice.items() if other != key})
