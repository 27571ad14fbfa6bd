"""
Kernels of learned predictors: walking forests, and a step of online regression.

They stand together and take everything as arguments, because a compiled kernel that is kept on
disk does not notice what changes in other files.
"""

from __future__ import annotations

import numpy as np

from cpsched.api.kernels import kernel

#: Runtimes below this many seconds count as this in the bounded slowdown.
_TAU = 10
#: Where a distribution says how likely a range of runtimes is, so much of it lies anywhere in the
#: range (a likely runtime weighs about 1 / 10), at so many points.
_ANYWHERE, _POINTS = 0.1, 6
#: What rounding may add to a sum of weights.
_ROUNDING = 1e-9


@kernel
def _ask(which, base, first, root, feature, threshold, left, right, value, row):  # type: ignore[no-untyped-def]
    """Return what one forest of the set says of a row of features."""
    total = base[which]
    for tree in range(first[which], first[which + 1]):
        node = root[tree]
        while feature[node] >= 0:
            below = row[feature[node]] <= threshold[node]
            node = left[node] if below else right[node]
        total += value[node]
    return total


@kernel
def evaluate(base, first, root, feature, threshold, left, right, value, rows, out):  # type: ignore[no-untyped-def]
    """
    Fill ``out``, shape ``(n, K)``, with what each forest of the set says of each row.

    The first eight are those of :class:`predictors.forest.ForestSet`.
    """
    for row in range(rows.shape[0]):
        for which in range(base.shape[0]):
            out[row, which] = _ask(
                which, base, first, root, feature, threshold, left, right, value, rows[row]
            )


@kernel
def step(inputs, wanted, weight, absolute, rate, learnt, norms, weights, scales, squares):  # type: ignore[no-untyped-def]
    """
    Take one normalized adaptive gradient step; return the sum of the norms.

    Ross, Mineiro and Langford (2013), Normalized online learning, algorithm 2.

    Parameters
    ----------
    inputs, wanted
        Of this job: shape ``(P,)``, and what the weighted sum should have been.
    weight
        Of this job's loss.
    absolute
        Whether the loss is the absolute error; otherwise squared above, linear below.
    rate, learnt, norms
        Learning rate, jobs learnt so far with this one, and N of the algorithm before it.
    weights, scales, squares
        w, s and G of the algorithm, shape ``(P,)``; changed in place.
    """
    said = 0.0
    for index in range(len(inputs)):
        size = abs(inputs[index])
        if size > scales[index]:
            weights[index] *= scales[index] / size
            scales[index] = size
        if scales[index] > 0:
            norms += (inputs[index] / scales[index]) ** 2
        said += weights[index] * inputs[index]
    over = said - wanted
    slope = 2.0 * over if over > 0 else -1.0
    if absolute:
        slope = np.sign(over)
    pace = rate * np.sqrt(learnt / norms)
    for index in range(len(inputs)):
        gradient = weight * slope * inputs[index]
        squares[index] += gradient**2
        if squares[index] > 0:
            weights[index] -= pace * gradient / (scales[index] * np.sqrt(squares[index]))
    return norms


@kernel
def _points_anywhere(limit, horizons, second, share, num):  # type: ignore[no-untyped-def]
    """Add a few points in every range between two horizons, and return how many there are now."""
    for part in range(len(horizons) + 1):
        low = np.log(horizons[part - 1] + 1.0) if part else 0.0
        high = np.log(min(float(horizons[part]), limit) if part < len(horizons) else limit)
        if low > high:
            break
        for point in range(_POINTS):
            at = low + (high - low) * (point + 0.5) / _POINTS
            second[num] = np.floor(np.exp(at) + 0.5)
            share[num] = _ANYWHERE * (high - low + 0.01) / (np.log(limit) + 0.01) / _POINTS
            num += 1
    return num


@kernel
def _share_out(second, share, horizons, chance):  # type: ignore[no-untyped-def]
    """Scale shares to the chances, or where these are NaN, fill them with what the shares say."""
    ranges = len(horizons) + 1
    mass = np.zeros(ranges)
    place = np.searchsorted(horizons, second)
    for i in range(len(second)):
        mass[place[i]] += share[i]
    if np.isnan(chance[0]):
        below = 0.0
        for part in range(ranges - 1):
            below += mass[part]
            chance[part] = below / mass.sum()
        return
    for i in range(len(second)):
        part = place[i]
        below = chance[part - 1] if part else 0.0
        until = chance[part] if part < ranges - 1 else 1.0
        share[i] *= (until - below) / mass[part]


@kernel
def _at_levels(second, share, limit, horizons, chance, levels, asked, quantile):  # type: ignore[no-untyped-def]
    """Fill quantiles; each is on that side of a horizon on which its level is of the chance."""
    order = np.argsort(second)
    total = share.sum()
    last = 0
    below = share[order[0]]
    for level in range(len(levels)):
        while last < len(order) - 1 and below < asked[level] * total - _ROUNDING:
            last += 1
            below += share[order[last]]
        found = second[order[last]]
        for part in range(len(horizons)):
            if levels[level] <= chance[part] + _ROUNDING:
                found = min(found, float(horizons[part]))
                break
            found = max(found, horizons[part] + 1.0)
        quantile[level] = np.int64(min(found, limit))


@kernel
def distribute(value, weight, requested, horizons, levels, asked, chances, quantiles, typical):  # type: ignore[no-untyped-def]
    """
    Make distributions of likely runtimes that agree with the chances to end within horizons.

    The weights of likely runtimes between two horizons, and of a few points anywhere between
    them, are scaled to what the chances leave to that range.

    Parameters
    ----------
    value, weight
        Likely runtimes of n jobs, seconds, and how much each counts, shape ``(n, K)``.
    requested
        Requested times, at least 1, shape ``(n,)``; no runtime is above.
    horizons, chances
        Seconds, shape ``(H,)``, and the chance to end within each, shape ``(n, H)``,
        non-decreasing; where the first of a row is NaN, the row is filled with what the weights
        say.
    levels, asked
        Levels of the quantiles, and which levels are taken for them, shape ``(L,)``.
    quantiles, typical
        Filled: seconds, shape ``(n, L)``; and the runtime to rank by, shape ``(n,)``:
        ``sqrt(E[r] / E[1 / max(r, 10)])``, the rule of Smith (1956) for the bounded slowdown.
    """
    num_jobs, num_values = value.shape
    size = num_values + (len(horizons) + 1) * _POINTS + 1
    seconds = np.empty(size)
    shares = np.empty(size)
    for job in range(num_jobs):
        limit = float(requested[job])
        num = 0
        for i in range(num_values):
            if weight[job, i] > 0.0:
                seconds[num] = min(max(float(value[job, i]), 1.0), limit)
                shares[num] = weight[job, i]
                num += 1
        if not np.isnan(chances[job, 0]):
            num = _points_anywhere(limit, horizons, seconds, shares, num)
        if not num:
            seconds[0], shares[0], num = limit, 1.0, 1
        second, share = seconds[:num], shares[:num]
        _share_out(second, share, horizons, chances[job])
        mean = 0.0
        slope = 0.0
        for i in range(num):
            mean += share[i] * second[i]
            slope += share[i] / max(second[i], _TAU)
        typical[job] = np.sqrt(mean / slope)
        _at_levels(second, share, limit, horizons, chances[job], levels, asked, quantiles[job])
