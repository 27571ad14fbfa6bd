#include "node_ranges.h"

namespace cpsched {

namespace {

std::int64_t lowest_bit(std::uint64_t word) {
    return __builtin_ctzll(word);
}

} // namespace

std::int64_t RangeStarts::end_of(std::int64_t node) const {
    const std::int64_t next = node + 1;
    if (next >= num_nodes_)
        return num_nodes_;
    const std::uint64_t rest = word(next) >> (next & 63);
    if (rest != 0)
        return next + lowest_bit(rest);
    for (auto at = static_cast<std::size_t>(next >> 6) + 1; at < words_.size(); ++at)
        if (words_[at] != 0)
            return 64 * static_cast<std::int64_t>(at) + lowest_bit(words_[at]);
    return num_nodes_;
}

std::int64_t RangeStarts::count() const {
    std::int64_t count = 0;
    for (const std::uint64_t word : words_)
        count += __builtin_popcountll(word);
    return count;
}

Ranges single_nodes(std::int64_t num_nodes) {
    Ranges ranges;
    for (std::int64_t node = 0; node < num_nodes; ++node) {
        ranges.first.push_back(node);
        ranges.size.push_back(1);
        ranges.in_order.push_back(node);
    }
    return ranges;
}

} // namespace cpsched
