"""Usage of associations with decay, and the Fair Tree factors that follow from it."""

from __future__ import annotations

import numpy as np

from cpsched.kernels.arrays import sort_by
from cpsched.kernels.compiling import kernel
from cpsched.kernels.inner import inner, leaf

#: The level factor of an account with ``Fairshare=parent``: its children are its parent's.
_NO_LEVEL = float(2**32 - 2)
_TINY = float(np.finfo(np.float64).tiny)


@leaf
def _weight(decay, seconds):
    """Return the usage of a number of seconds of a running job."""
    return seconds * decay ** float(seconds)


@leaf
def charge_from(book, settings, charges, association, billing, now):
    """Charge a job from now on."""
    if settings.shares == 0 or association < 0:
        return
    charges.rate[association] += billing
    if now > book.charged:
        late = book.num_late
        charges.late[late, 0], charges.late[late, 1] = association, now
        charges.late_billing[late] = billing
        book.num_late = late + 1


@leaf
def _forget_late(book, charges, association, start, billing):
    """Take the first job like this out of those that started since usage was computed."""
    late, late_billing = charges.late, charges.late_billing
    at = 0
    while late[at, 0] != association or late[at, 1] != start or late_billing[at] != billing:
        at += 1
    book.num_late -= 1
    for i in range(at, book.num_late):
        late[i, 0], late[i, 1] = late[i + 1, 0], late[i + 1, 1]
        late_billing[i] = late_billing[i + 1]


@leaf
def charge_until(book, settings, charges, tree, association, billing, start, now):
    """Charge a job that ends now for what it has run since usage was computed."""
    if settings.shares == 0 or association < 0:
        return
    charges.rate[association] -= billing
    if abs(charges.rate[association]) < 1e-6 * max(billing, 1e-6):
        charges.rate[association] = 0.0
    if start > book.charged:
        _forget_late(book, charges, association, start, billing)
    amount = billing * _weight(settings.decay, now - max(start, book.charged))
    at = association
    while at >= 0:
        charges.raw[at] += amount
        at = tree.parent[at]


@leaf
def _sum_up(tree, amounts, added):
    """Add the amounts of all associations below to each; ``added`` is of zeros, and so again."""
    order, num = tree.deepest_first, len(tree.deepest_first)
    begin = 0
    while begin < num:
        end = begin + 1
        while end < num and not tree.new_depth[end]:
            end += 1
        for i in range(begin, end):
            added[tree.parent[order[i]]] += amounts[order[i]]
        for i in range(begin, end):
            above = tree.parent[order[i]]
            amounts[above] += added[above]
            added[above] = 0.0
        begin = end


@kernel
def summed_up(tree, amounts):
    """Return amounts with those of all associations below added."""
    total = amounts.copy()
    _sum_up(tree, total, np.zeros(len(total)))
    return total


@inner
def _charge(book, decay, charges, tree, now):
    """Let usage decay until a calculation now, and charge what runs."""
    raw, num = charges.raw, len(charges.raw)
    seconds = now - book.charged
    left, weight = max(decay ** float(seconds), _TINY), _weight(decay, seconds)
    charge = np.empty(num)
    for at in range(num):
        raw[at] *= left
        charge[at] = charges.rate[at] * weight
    for i in range(book.num_late):
        more = _weight(decay, now - charges.late[i, 1]) - weight
        charge[charges.late[i, 0]] += charges.late_billing[i] * more
    book.num_late = 0
    _sum_up(tree, charge, np.zeros(num))
    for at in range(num):
        raw[at] += charge[at]
    book.charged = now


@leaf
def _set_back(book, charges, at):
    """Set usage back where that is due."""
    if at >= charges.resets[book.num_resets]:
        for i in range(len(charges.raw)):
            charges.raw[i] = 0.0
        while charges.resets[book.num_resets] <= at:
            book.num_resets += 1


@inner
def advance(book, settings, charges, tree, now):
    """Compute usage as often as is due, and the factors; return the second of the last time."""
    at = book.next_charge
    while True:
        if settings.shares != 0:
            _set_back(book, charges, at)
            _charge(book, settings.decay, charges, tree, at)
        if at + settings.period > now:
            break
        at += settings.period
    book.next_charge = at + settings.period
    if settings.shares != 0 and settings.fair_tree != 0:
        _rank_users(tree, charges.raw, charges.fair_share)
    return at


# --- Fair Tree --------------------------------------------------------------------------------


@leaf
def _level_factor(tree, usage, at):
    """Return level fair share: the share among siblings over the part of their parent's usage."""
    if at == 0:
        return _NO_LEVEL
    if tree.inherits[at]:
        return np.inf if tree.is_user[at] else _NO_LEVEL
    if tree.level_share[at] <= 0:
        return 0.0
    above = usage[tree.share_parent[at]]
    part = usage[at] / above if above > 0 else 0.0
    return tree.level_share[at] / part if part > 0 else np.inf


@leaf
def _place_siblings(tree, order, factor, place, tied, leads):
    """Number users among those under the same parent, and mark ties and the first of siblings."""
    before = 0
    for i in range(len(order)):
        at = order[i]
        first = i == 0 or tree.share_parent[at] != tree.share_parent[order[i - 1]]
        before = 0 if first else before
        place[at] = before
        tied[at] = not first and factor[at] == factor[order[i - 1]]
        leads[at] = first
        before += tree.users_under[at]
    for at in tree.by_level:
        above = tree.share_parent[at]
        place[at] += place[above]
        tied[at] = tied[at] or (leads[at] and tied[above])


@inner
def _rank_users(tree, usage, found):
    """Write down users' factors as :meth:`ShareTree.fair_tree` says."""
    num = len(usage)
    factor, key = np.empty(num), np.empty(num - 1)
    place, order = np.zeros(num, dtype=np.int64), tree.tied_order.copy()
    tied, leads = np.zeros(num, dtype=np.bool_), np.zeros(num, dtype=np.bool_)
    num_users = 0
    for at in range(num):
        factor[at] = _level_factor(tree, usage, at)
        num_users += int(tree.is_user[at])
        found[at] = 0.0
    for i in range(num - 1):
        key[i] = -factor[order[i]]
    sort_by(key, order, num - 1)
    for i in range(num - 1):
        key[i] = tree.share_parent[order[i]]
    sort_by(key, order, num - 1)
    _place_siblings(tree, order, factor, place, tied, leads)
    walk = np.empty(num_users, dtype=np.int64)
    for at in range(num):
        if tree.is_user[at]:
            walk[place[at]] = at
    leader = 0
    for i in range(num_users):
        leader = leader if tied[walk[i]] else i
        found[walk[i]] = (num_users - leader) / num_users


@kernel
def level_factors(tree, usage):
    """Return level fair share of each association."""
    found = np.empty(len(usage))
    for at in range(len(usage)):
        found[at] = _level_factor(tree, usage, at)
    return found


@kernel
def rank_users(tree, usage, found):
    """Write down users' factors as :meth:`ShareTree.fair_tree` says."""
    _rank_users(tree, usage, found)


# --- for Python ------------------------------------------------------------------------------


@kernel
def calculate(book, settings, charges, tree, now):
    """Compute usage as often as is due; return the second of the last time."""
    return advance(book[0], settings[0], charges, tree, now)


@kernel
def begin_charging(book, settings, charges, association, billing, now):
    """Charge a job from now on."""
    charge_from(book[0], settings[0], charges, association, billing, now)


@kernel
def end_charging(book, settings, charges, tree, association, billing, start, now):
    """Charge a job that ends now."""
    charge_until(book[0], settings[0], charges, tree, association, billing, start, now)
