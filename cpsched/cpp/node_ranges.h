// Contiguous ranges of nodes that are alike.
//
// Neighbouring nodes with the same capacity, open to the same jobs and with the same free are one
// entry. So a pass costs what differs on the system, and not its number of nodes; and since a range
// is a part of the nodes' order, a choice among ranges is the choice among their nodes.
#pragma once

#include "types.h"

namespace cpsched {

/// Where contiguous ranges of nodes begin: a bit for each node, and one for each 64 of those. Node
/// 0 always begins one.
class RangeStarts {
  public:
    explicit RangeStarts(std::int64_t num_nodes = 0)
        : num_nodes_(num_nodes), words_(num_words(num_nodes), 0),
          used_words_(num_words(static_cast<std::int64_t>(words_.size())), 0) {}

    bool begins_at(std::int64_t node) const { return (words_[place_of(node)] & bit_of(node)) != 0; }
    void begin_at(std::int64_t node) {
        words_[place_of(node)] |= bit_of(node);
        used_words_[place_of(node >> 6)] |= bit_of(node >> 6);
    }
    void join_at(std::int64_t node) {
        words_[place_of(node)] &= ~bit_of(node);
        if (words_[place_of(node)] == 0)
            used_words_[place_of(node >> 6)] &= ~bit_of(node >> 6);
    }
    /// The first node of the range that a node is in.
    std::int64_t start_of(std::int64_t node) const;
    /// The node behind the range that a node is in; the number of nodes for the last range.
    std::int64_t end_of(std::int64_t node) const;
    /// The number of ranges.
    std::int64_t count() const;
    std::int64_t num_nodes() const { return num_nodes_; }

  private:
    static std::size_t num_words(std::int64_t bits) {
        return static_cast<std::size_t>((bits + 63) / 64);
    }
    static std::size_t place_of(std::int64_t bit) { return static_cast<std::size_t>(bit >> 6); }
    static std::uint64_t bit_of(std::int64_t bit) { return std::uint64_t{1} << (bit & 63); }

    std::int64_t num_nodes_;
    std::vector<std::uint64_t> words_;
    std::vector<std::uint64_t> used_words_; // the words that are not 0
};

/// Return all nodes as one range.
RangeStarts single_range(std::int64_t num_nodes);

/// Ranges of nodes that a job may be placed on.
///
/// A range keeps its number when others are split off it, so numbers are not in the order of nodes.
struct Ranges {
    /// The first node of each range, and how many there are.
    std::vector<std::int64_t> first;
    std::vector<std::int64_t> size;
    /// The numbers of the ranges to look at, in order of nodes; those left out hold no task.
    std::vector<std::int64_t> in_order;

    std::size_t count() const { return first.size(); }
    void clear() {
        first.clear();
        size.clear();
        in_order.clear();
    }
};

/// Return every node as a range of its own.
Ranges single_nodes(std::int64_t num_nodes);

/// So many neighbouring nodes with the same number of tasks on each.
struct NodeSpan {
    std::int64_t first;
    std::int64_t count;
    std::int64_t tasks;
};

/// Where the tasks of a job are: spans in order of nodes, every one with a task or more.
using Placement = std::vector<NodeSpan>;

} // namespace cpsched
