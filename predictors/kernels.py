"""
Kernels of learned predictors: walking forests, and a step of online regression.

They stand together and take everything as arguments, because a compiled kernel that is kept on
disk does not notice what changes in other files.
"""

from __future__ import annotations

import numpy as np

from cpsched.kernels.compiling import kernel


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
def blend(  # type: ignore[no-untyped-def]
    rows, columns, requested, least_share, unknown, doubt,
    base, first, root, feature, threshold, left, right, value,
    loss_base, loss_first, loss_root, loss_feature, loss_threshold, loss_left, loss_right,
    loss_value,
    scores,
):  # fmt: skip
    """
    Fill ``scores`` with what ``stack`` says of each row: see :mod:`predictors.stack`.

    Parameters
    ----------
    rows
        Features, float32, shape ``(n, F)``.
    columns
        Features that are candidates, shape ``(H,)``; below 0 where they say nothing.
    requested
        Feature that is the logarithm of the requested time; no candidate is above it.
    least_share, unknown
        The smallest share of it, and how far a history is that says nothing.
    doubt
        By how much the loss of a candidate must be worse that it weighs 1/e of the best.
    base, ...
        Two forests: of the logarithm, and of the share of the requested time.
    loss_base, ...
        A forest for each candidate, over the features, what the two say, and how far the
        histories are from the first of these; or of none, then nothing is blended.
    scores
        float64, shape ``(n, 4)``: what the two say and the weighted median, as logarithms, and the
        number of the candidate that weighs most.
    """
    num, histories = rows.shape[1], columns.shape[0]
    extended = np.empty(num + 2 + histories, dtype=np.float32)
    said = np.empty(histories + 2)
    loss = np.empty(histories + 2)
    for job in range(rows.shape[0]):
        row = rows[job]
        log = _ask(0, base, first, root, feature, threshold, left, right, value, row)
        share = _ask(1, base, first, root, feature, threshold, left, right, value, row)
        share = np.log(max(share, least_share)) + row[requested]
        scores[job, 0] = log
        scores[job, 1] = share
        if loss_base.shape[0] == 0:
            continue
        extended[:num] = row
        extended[num] = log
        extended[num + 1] = share
        for index in range(histories):
            history = row[columns[index]]
            said[index] = history
            extended[num + 2 + index] = unknown if history < 0 else history - log
        said[histories] = log
        said[histories + 1] = share
        least, best = np.inf, -1
        for which in range(histories + 2):
            if which < histories and said[which] < 0:
                loss[which] = np.inf
                continue
            loss[which] = _ask(
                which, loss_base, loss_first, loss_root, loss_feature, loss_threshold, loss_left,
                loss_right, loss_value, extended,
            )  # fmt: skip
            if loss[which] < least:
                least, best = loss[which], which
        for which in range(histories + 2):
            loss[which] = np.exp((least - loss[which]) / doubt)
        scores[job, 2] = min(_middle(said, loss), row[requested])
        scores[job, 3] = best


@kernel
def _middle(values, weights):  # type: ignore[no-untyped-def]
    """Return the weighted median: the least value that half of the weight is not above."""
    half, middle = 0.5 * weights.sum(), np.inf
    for at in range(len(values)):
        value = values[at]
        if weights[at] > 0 and value < middle and weights[values <= value].sum() >= half:
            middle = value
    return middle


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
