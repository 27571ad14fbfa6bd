#include "pass_state.h"

#include <algorithm>

namespace cpsched {

namespace {

/// Return what every node has of each resource.
std::vector<Amount> least_of(const std::vector<Amount> &capacity, std::size_t num_resources) {
    std::vector<Amount> least(capacity.begin(),
                              capacity.begin() + static_cast<std::ptrdiff_t>(num_resources));
    for (std::size_t at = 0; at < capacity.size(); ++at) {
        Amount &lowest = least[at % num_resources];
        lowest = std::min(lowest, capacity[at]);
    }
    return least;
}

Nodes nodes_of(const std::vector<Amount> &capacity, int num_resources,
               const std::vector<std::int64_t> &levels, const std::vector<Amount> &least) {
    Nodes nodes;
    nodes.num_resources = num_resources;
    nodes.num_nodes = static_cast<std::int64_t>(capacity.size()) / num_resources;
    nodes.capacity = capacity.data();
    nodes.levels = levels.data();
    nodes.num_levels = static_cast<int>(static_cast<std::int64_t>(levels.size()) / nodes.num_nodes);
    nodes.least_capacity = least.data();
    return nodes;
}

} // namespace

PassState::PassState(Allocator allocator, std::vector<Amount> capacity, int num_resources,
                     std::vector<std::int64_t> levels)
    : capacity_(std::move(capacity)), levels_(std::move(levels)),
      least_capacity_(least_of(capacity_, static_cast<std::size_t>(num_resources))),
      nodes(nodes_of(capacity_, num_resources, levels_, least_capacity_)), free(nodes),
      placer(allocator, nodes), context{nodes, free, classes, placer, {}, {}, {}} {}

} // namespace cpsched
