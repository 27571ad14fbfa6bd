"""
Runs of neighbouring nodes that are alike: a bit for each node says that a run begins there.

A change on one node changes its bit and that of the next; going from run to run takes a step for
each run and one for every 64 nodes. So a pass over a machine costs what differs on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cpsched.kernels.inner import leaf
from cpsched.kernels.linking import trailing_zeros

if TYPE_CHECKING:
    from cpsched.util.types import BoolArray, IntArray


def num_words(num_nodes: int) -> int:
    """Return how many words hold a bit for each node."""
    return (num_nodes + 63) >> 6


words = leaf(num_words)


def packed_bits(begins: BoolArray) -> IntArray:
    """Return where runs begin, said of each node, as words."""
    octets = np.zeros(8 * num_words(len(begins)), dtype=np.uint8)
    found = np.packbits(begins, bitorder="little")
    octets[: len(found)] = found
    return octets.view("<i8").astype(np.int64)


@leaf
def begins_at(bits, node):
    """Say whether a run begins at a node."""
    return (bits[node >> 6] >> (node & 63)) & 1 != 0


@leaf
def begin_at(bits, node):
    """Let a run begin at a node."""
    bits[node >> 6] |= 1 << (node & 63)


@leaf
def join_at(bits, node):
    """Let no run begin at a node."""
    bits[node >> 6] &= ~(1 << (node & 63))


@leaf
def run_end(bits, node, num_nodes):
    """Return the node behind the run that a node is in: where the next begins, or their number."""
    following = node + 1
    if following >= num_nodes:
        return num_nodes
    word = following >> 6
    # The shift copies the highest bit: above a bit that is set, so that it is never the lowest.
    rest = bits[word] >> (following & 63)
    if rest != 0:
        return following + trailing_zeros(rest)
    for later in range(word + 1, len(bits)):
        if bits[later] != 0:
            return 64 * later + trailing_zeros(bits[later])
    return num_nodes


@leaf
def num_runs(bits):
    """Return how many runs there are."""
    count = 0
    for word in bits:
        while word != 0:
            word &= word - 1
            count += 1
    return count


#: Entries compared at once.
BLOCK = 64


@leaf
def same_block(now, before):
    """Say whether two blocks are the same; a fixed number of entries is compared at once."""
    differs = now[0] ^ before[0]
    for i in range(BLOCK):
        differs |= now[i] ^ before[i]
    return not differs


@leaf
def begin_where_differs(bits, values, width):
    """Let a run begin at each node that differs from the one before it in one of its values."""
    for low in range(width, len(values), BLOCK):
        high = min(low + BLOCK, len(values))
        shifted = values[low - width : high - width]
        if high - low < BLOCK or not same_block(values[low:high], shifted):
            for i in range(low, high):
                if values[i] != values[i - width]:
                    begin_at(bits, i // width)
