"""Seeds: of one seed, a stream of its own for each thing that draws random numbers."""

from __future__ import annotations

import numpy as np


def stream_seed(seed: int, consumer: str) -> int:
    """
    Return the seed of one consumer; those of others cannot be derived from it.

    Parameters
    ----------
    seed
        Of a whole run, not negative.
    consumer
        ``dispatcher``, ``predictor`` or ``runtime model``.

    Returns
    -------
    int
        Below 2^31, which every library takes.
    """
    words = np.random.SeedSequence([seed, *consumer.encode()]).generate_state(1)
    return int(words[0]) >> 1
