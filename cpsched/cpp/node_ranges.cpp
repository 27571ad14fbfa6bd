#include "node_ranges.h"

namespace cpsched {

namespace {

std::int64_t lowest_bit(std::uint64_t word) {
    return __builtin_ctzll(word);
}

std::int64_t highest_bit(std::uint64_t word) {
    return 63 - __builtin_clzll(word);
}

/// Return the first bit that is set from one on, `none` if there is no such bit.
std::int64_t next_bit(const std::vector<std::uint64_t> &words, std::int64_t from,
                      std::int64_t none) {
    auto at = static_cast<std::size_t>(from >> 6);
    if (at >= words.size())
        return none;
    std::uint64_t word = words[at] >> (from & 63) << (from & 63);
    while (word == 0) {
        if (++at == words.size())
            return none;
        word = words[at];
    }
    return 64 * static_cast<std::int64_t>(at) + lowest_bit(word);
}

/// Return the last bit that is set up to one; there must be one.
std::int64_t last_bit(const std::vector<std::uint64_t> &words, std::int64_t until) {
    auto at = static_cast<std::size_t>(until >> 6);
    std::uint64_t word = words[at] << (63 - (until & 63)) >> (63 - (until & 63));
    while (word == 0)
        word = words[--at];
    return 64 * static_cast<std::int64_t>(at) + highest_bit(word);
}

} // namespace

std::int64_t RangeStarts::start_of(std::int64_t node) const {
    const std::uint64_t before = words_[place_of(node)] << (63 - (node & 63));
    if (before != 0)
        return node - (63 - highest_bit(before));
    const std::int64_t word = last_bit(used_words_, (node >> 6) - 1);
    return 64 * word + highest_bit(words_[static_cast<std::size_t>(word)]);
}

std::int64_t RangeStarts::end_of(std::int64_t node) const {
    const std::int64_t next = node + 1;
    if (next >= num_nodes_)
        return num_nodes_;
    const std::uint64_t rest = words_[place_of(next)] >> (next & 63);
    if (rest != 0)
        return next + lowest_bit(rest);
    const std::int64_t word = next_bit(used_words_, (next >> 6) + 1, -1);
    return word < 0 ? num_nodes_ : 64 * word + lowest_bit(words_[static_cast<std::size_t>(word)]);
}

std::int64_t RangeStarts::count() const {
    std::int64_t count = 0;
    for (const std::uint64_t word : words_)
        count += __builtin_popcountll(word);
    return count;
}

RangeStarts single_range(std::int64_t num_nodes) {
    RangeStarts starts(num_nodes);
    if (num_nodes > 0)
        starts.begin_at(0);
    return starts;
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
