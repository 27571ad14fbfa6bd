#include "topology_order.h"

#include <algorithm>

namespace cpsched {

namespace {

/// Let a part count for its whole segments only.
void count_segments(Part &part, const Ranges &ranges, const std::vector<std::int64_t> &fitting,
                    std::int64_t segment, const std::vector<std::int64_t> &usable) {
    part.nodes -= part.nodes % segment;
    part.tasks = 0;
    std::int64_t left = part.nodes;
    for (std::size_t at = part.begin; at < part.end; ++at) {
        const std::int64_t used = std::min(ranges.size[usable[at]], left);
        part.tasks += used * fitting[usable[at]];
        left -= used;
    }
}

} // namespace

void find_parts(const Nodes &nodes, PartKind kind, const Ranges &ranges,
                const std::vector<std::int64_t> &fitting, std::int64_t segment,
                const std::vector<std::int64_t> &usable, std::vector<Part> &parts) {
    parts.clear();
    // Of the range before.
    std::int64_t end = -1;
    std::int64_t last_group = -1;
    std::int64_t last_weight = 0;
    for (std::size_t at = 0; at < usable.size(); ++at) {
        const std::int64_t range = usable[at];
        const std::int64_t first = ranges.first[range];
        const std::int64_t group = nodes.group_of(0, first);
        const std::int64_t weight = nodes.weights != nullptr ? nodes.weights[first] : 0;
        const bool apart =
            kind == PartKind::kGroup ? group != last_group : first != end || weight != last_weight;
        if (parts.empty() || apart)
            parts.push_back({at, at, 0, 0, weight, false});
        Part &part = parts.back();
        part.end = at + 1;
        part.tasks += ranges.size[range] * fitting[range];
        part.nodes += ranges.size[range];
        part.weight = std::min(part.weight, weight);
        end = first + ranges.size[range];
        last_group = group;
        last_weight = weight;
    }
    if (segment > 0)
        for (Part &part : parts)
            count_segments(part, ranges, fitting, segment, usable);
}

std::optional<std::size_t> best_part(const std::vector<Part> &parts, std::int64_t tasks,
                                     std::int64_t nodes) {
    const Part *best = nullptr;
    bool best_is_enough = false;
    for (const Part &part : parts) {
        if (part.used || part.nodes == 0)
            continue;
        const bool enough = part.tasks >= tasks && part.nodes >= nodes;
        bool better = true;
        if (best != nullptr && part.weight != best->weight)
            better = part.weight < best->weight;
        else if (best != nullptr && best_is_enough)
            better = enough && part.tasks < best->tasks;
        else if (best != nullptr)
            better = enough || part.tasks > best->tasks;
        if (better) {
            best = &part;
            best_is_enough = enough;
        }
    }
    if (best == nullptr)
        return std::nullopt;
    return static_cast<std::size_t>(best - parts.data());
}

std::int64_t TopologyOrder::group_of(int level, const Part &part, const Ranges &ranges) const {
    return nodes_.group_of(level, ranges.first[usable_[part.begin]]);
}

/// Return the group of the lowest level that has one which holds a job, the fullest of several.
TopologyOrder::Group TopologyOrder::lowest_switch(const Ranges &ranges,
                                                  const Request &request) const {
    for (int level = 0; level < nodes_.num_levels; ++level) {
        std::int64_t best = -1;
        std::int64_t fewest = kFar;
        for (std::size_t p = 0; p < parts_.size();) {
            const std::int64_t group = group_of(level, parts_[p], ranges);
            std::int64_t tasks = 0;
            std::int64_t nodes = 0;
            for (; p < parts_.size() && group_of(level, parts_[p], ranges) == group; ++p) {
                tasks += parts_[p].tasks;
                nodes += parts_[p].nodes;
            }
            if (tasks >= request.tasks && nodes >= request.nodes_min && nodes < fewest) {
                best = group;
                fewest = nodes;
            }
        }
        if (best >= 0)
            return {level, best};
    }
    return {nodes_.num_levels, 0};
}

TopologyOrder::Needed TopologyOrder::sort(Preference preference, const Ranges &ranges,
                                          const Request &request,
                                          const std::vector<std::int64_t> &fitting,
                                          std::vector<std::int64_t> &order) {
    const bool by_group = preference != Preference::kContiguous && nodes_.num_levels > 0;
    usable_ = order;
    is_taken_.assign(usable_.size(), 0);
    find_parts(nodes_, by_group ? PartKind::kGroup : PartKind::kConsecutive, ranges, fitting,
               request.what.segment(), usable_, parts_);
    if (by_group && preference == Preference::kLowestSwitch) {
        const Group group = lowest_switch(ranges, request);
        for (Part &part : parts_)
            part.used = group_of(group.level, part, ranges) != group.number;
    }
    order.clear();
    Needed needed = {0, 0};
    std::int64_t tasks_left = request.tasks;
    std::int64_t nodes_owed = request.nodes_min;
    while (tasks_left > 0 || nodes_owed > 0) {
        const auto best = best_part(parts_, tasks_left, nodes_owed);
        if (!best)
            break;
        Part &part = parts_[*best];
        part.used = true;
        ++needed.parts;
        tasks_left -= part.tasks;
        nodes_owed -= part.nodes;
        for (std::size_t at = part.begin; at < part.end; ++at) {
            order.push_back(usable_[at]);
            is_taken_[at] = 1;
        }
    }
    needed.ranges = order.size();
    for (std::size_t at = 0; at < usable_.size(); ++at)
        if (is_taken_[at] == 0)
            order.push_back(usable_[at]);
    return needed;
}

} // namespace cpsched
