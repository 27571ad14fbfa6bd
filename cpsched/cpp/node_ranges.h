// Contiguous ranges of nodes that are alike.
//
// Neighbouring nodes with the same capacity, open to the same jobs and with the same free are one
// entry. So a pass costs what differs on the system, and not its number of nodes; and since a range
// is a part of the nodes' order, a choice among ranges is the choice among their nodes.
#pragma once

#include "types.h"

namespace cpsched {

/// Where contiguous ranges of nodes begin: a bit for each node. Node 0 always begins one.
class RangeStarts {
  public:
    explicit RangeStarts(std::int64_t num_nodes = 0)
        : num_nodes_(num_nodes), words_(static_cast<std::size_t>((num_nodes + 63) / 64), 0) {}

    bool begins_at(std::int64_t node) const { return (word(node) >> (node & 63)) & 1; }
    void begin_at(std::int64_t node) { word(node) |= std::uint64_t{1} << (node & 63); }
    void join_at(std::int64_t node) { word(node) &= ~(std::uint64_t{1} << (node & 63)); }
    /// The node behind the range that a node is in; the number of nodes for the last range.
    std::int64_t end_of(std::int64_t node) const;
    /// The number of ranges.
    std::int64_t count() const;
    std::int64_t num_nodes() const { return num_nodes_; }

  private:
    std::uint64_t word(std::int64_t node) const {
        return words_[static_cast<std::size_t>(node >> 6)];
    }
    std::uint64_t &word(std::int64_t node) { return words_[static_cast<std::size_t>(node >> 6)]; }

    std::int64_t num_nodes_;
    std::vector<std::uint64_t> words_;
};

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
