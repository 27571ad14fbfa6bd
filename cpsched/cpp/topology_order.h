// Orders of ranges of nodes by parts of the topology.
//
// A part is some consecutive nodes, or the nodes of one group of the topology's lowest level. A job
// is placed on the smallest part that holds it, else on the largest, and the rest of it in the same
// way. A job with segments uses in each group of the lowest level a whole number of segments of
// nodes, so a part counts for what its whole segments hold.
//
// Cost: O(G + P * U) for G ranges of nodes in P parts, of which U are used.
#pragma once

#include "node_ranges.h"
#include "nodes.h"

#include <optional>

namespace cpsched {

/// Usable ranges of nodes that go together.
struct Part {
    /// Its places [begin, end) among the usable ranges in order of nodes.
    std::size_t begin;
    std::size_t end;
    /// What fits on its nodes; how many they are; their lowest weight.
    std::int64_t tasks;
    std::int64_t nodes;
    std::int64_t weight;
    /// Whether it is out of the question.
    bool used;
};

enum class PartKind {
    /// Nodes of one group of the lowest level.
    kGroup,
    /// Nodes that follow each other, of one weight if nodes have weights.
    kConsecutive,
};

/// Find the parts of the usable ranges, given in order of nodes.
///
/// `fitting` is how many tasks each node of a range holds. With `segment` nodes in a segment a part
/// counts for its whole segments only; 0 is a job without.
void find_parts(const Nodes &nodes, PartKind kind, const Ranges &ranges,
                const std::vector<std::int64_t> &fitting, std::int64_t segment,
                const std::vector<std::int64_t> &usable, std::vector<Part> &parts);

/// Return the place of the tightest part that is enough for so many tasks and nodes, of the largest
/// where none is; among those of the lowest weight. None where all are used.
std::optional<std::size_t> best_part(const std::vector<Part> &parts, std::int64_t tasks,
                                     std::int64_t nodes);

/// Puts ranges of nodes in order, the best part first and so on until there is enough.
class TopologyOrder {
  public:
    enum class Preference {
        /// The lowest switch that holds the job, and under it as few groups as possible.
        kLowestSwitch,
        /// Few groups of the lowest level.
        kFewestGroups,
        /// Few ranges of consecutive nodes.
        kContiguous,
    };
    /// How many parts a job needs, and how many ranges of nodes these are.
    struct Needed {
        std::int64_t parts;
        std::size_t ranges;
    };

    explicit TopologyOrder(const Nodes &nodes) : nodes_(nodes) {}

    /// Order usable ranges, given in order of nodes. Those that are not needed follow in order of
    /// nodes, for jobs that cannot have as many nodes as they like. Without a topology, every
    /// preference is that for consecutive nodes.
    Needed sort(Preference preference, const Ranges &ranges, const Request &request,
                const std::vector<std::int64_t> &fitting, std::vector<std::int64_t> &order);

  private:
    /// A group of nodes at a level of the topology.
    struct Group {
        int level;
        std::int64_t number;
    };

    std::int64_t group_of(int level, const Part &part, const Ranges &ranges) const;
    Group lowest_switch(const Ranges &ranges, const Request &request) const;

    const Nodes &nodes_;
    std::vector<Part> parts_;
    std::vector<std::int64_t> usable_;
    /// Whether the range at a place in `usable_` is in order already.
    std::vector<char> is_taken_;
};

} // namespace cpsched
