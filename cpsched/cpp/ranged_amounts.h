// Amounts of resources on all nodes of a system, by contiguous ranges of equal nodes.
//
// Cost: O(R) for each range that a change touches, and what finding a range costs: at most a look
// at each 4096 nodes.
#pragma once

#include "node_ranges.h"

namespace cpsched {

/// An amount of each resource on every node, kept once for each contiguous range of nodes with the
/// same amounts.
class RangedAmounts {
  public:
    RangedAmounts() = default;
    /// Take over the amounts of all nodes, shape (N, R). No range goes beyond a node at which one
    /// of `apart` begins.
    RangedAmounts(int num_resources, const Amount *amounts, const RangeStarts &apart);

    const RangeStarts &starts() const { return starts_; }
    /// What each node of a range has; `first` is the first of them.
    const Amount *of_range(std::int64_t first) const { return amounts_.data() + first * width_; }
    /// What a node has.
    const Amount *of(std::int64_t node) const { return of_range(starts_.start_of(node)); }

    /// Let ranges begin at both ends of the nodes [first, end).
    void split(std::int64_t first, std::int64_t end) {
        split_at(first);
        split_at(end);
    }
    /// Add amounts on each node of a range.
    void add_to_range(std::int64_t first, const Amount *change) {
        Amount *amounts = amounts_.data() + first * width_;
        for (std::int64_t r = 0; r < width_; ++r)
            amounts[r] += change[r];
    }
    /// Undo `split` where neighbours are alike now.
    void join(std::int64_t first, std::int64_t end, const RangeStarts &apart) {
        join_at(first, apart);
        join_at(end, apart);
    }

  private:
    void split_at(std::int64_t node);
    void join_at(std::int64_t node, const RangeStarts &apart);

    std::int64_t width_ = 0;
    std::vector<Amount> amounts_; // by node, of the first node of each range
    RangeStarts starts_;
};

} // namespace cpsched
