// The nodes of a system: what does not change during a pass.
#pragma once

#include "request.h"
#include "types.h"

namespace cpsched {

/// A request class that other jobs ask for, as the allocator `fgd` weighs it.
struct WantedRequest {
    std::int64_t request_id;
    std::int64_t tasks_together; // on one node
    std::int64_t weight;
};

/// N nodes with R resources; every array belongs to somebody else.
struct Nodes {
    std::int64_t num_nodes = 0;
    int num_resources = 0;
    /// Shape (N, R).
    const Amount *capacity = nullptr;
    /// The nodes that are up and that each class of jobs may use, shape (C, N).
    const std::uint8_t *eligible = nullptr;
    /// The group of each node at each level of the topology, lowest first, shape (L, N).
    const std::int64_t *levels = nullptr;
    int num_levels = 0;
    /// What every node has of each resource: a resource of which a node has more is scarce there.
    const Amount *least_capacity = nullptr;
    /// Of each node, shape (N,): where parts of the topology have weights, else nullptr.
    const std::int64_t *weights = nullptr;
    RequestTable requests;
    Span<const WantedRequest> wanted;

    const Amount *capacity_of(std::int64_t node) const { return capacity + node * num_resources; }
    bool is_eligible(const RequestClass &what, std::int64_t node) const {
        return eligible[what.eligible_class() * num_nodes + node] != 0;
    }
    /// The group of a node at a level; above the highest level all nodes are one group.
    std::int64_t group_of(int level, std::int64_t node) const {
        return level < num_levels ? levels[level * num_nodes + node] : 0;
    }
};

/// More tasks than any job has: so many fit where they need nothing. Sums over 2^16 nodes fit into
/// 64 bits.
inline constexpr std::int64_t kMany = std::int64_t{1} << 46;
/// So many times an amount is less than 2^63.
inline constexpr std::int64_t kFactor = 1 << 10;

/// Return how many tasks of a request class fit on one node, `most` if more do.
///
/// `free` is what the node has left of each resource. An exclusive job fits where nothing is taken:
/// a job that asks for nothing takes nothing, so the two can share a node.
inline std::int64_t num_fitting_tasks(const Nodes &nodes, const Amount *free, std::int64_t node,
                                      const RequestClass &what, std::int64_t most = kMany) {
    if (!nodes.is_eligible(what, node))
        return 0;
    const bool exclusive = what.is_exclusive();
    const Amount *capacity = nodes.capacity_of(node);
    std::int64_t fitting = most;
    for (int r = 0; r < nodes.num_resources; ++r) {
        if (exclusive && free[r] != capacity[r])
            return 0;
        const Amount left = free[r] - what.per_node(r);
        if (left < 0)
            return 0;
        const Amount need = what.task(r);
        if (left < need)
            return 0;
        if (need == 1)
            fitting = std::min(fitting, left);
        // Dividing is slow: one task fits often, and there is plenty of most resources. The product
        // must not overflow.
        else if (need > 1 && left - need < need)
            fitting = 1;
        else if (need > 1 && (fitting >= kFactor || need * fitting > left))
            fitting = std::min(fitting, left / need);
    }
    return fitting;
}

} // namespace cpsched
