// What the tables of a run need of long columns.
#pragma once

#include "types.h"

namespace cpsched {

/// Return how many of some rising values are at most each of some rising limits.
///
/// Cost: O(log n + m + the values between the first limit and the last) for n values, m limits.
std::vector<std::int64_t> num_up_to(Span<const std::int64_t> values,
                                    Span<const std::int64_t> limits);

/// Sequences of numbers, of which equal ones have the same number.
struct NumberedSequences {
    /// The number of each sequence, in order of first appearance.
    std::vector<std::int64_t> number;
    /// The first sequence of each number.
    std::vector<std::int64_t> first;
};

/// Number the sequences [begin[k], begin[k + 1]) of rows of `width` values; `begin` has the end of
/// the last sequence, too.
NumberedSequences numbered_sequences(const std::int64_t *rows, std::size_t width,
                                     Span<const std::int64_t> begin);

} // namespace cpsched
