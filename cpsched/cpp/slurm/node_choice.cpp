#include "node_choice.h"

#include <algorithm>

namespace cpsched::slurm {

NodeChoice::NodeChoice(Allocator allocator, const Nodes &nodes, bool tightest_node)
    : nodes_(nodes),
      preference_(allocator == Allocator::kLowestSwitch ? TopologyOrder::Preference::kLowestSwitch
                                                        : TopologyOrder::Preference::kContiguous),
      tightest_node_(tightest_node), placer_(allocator, nodes), topology_(nodes) {}

bool NodeChoice::place(const Amount *free, const Ranges &ranges, const Request &request,
                       Pieces &pieces) {
    if (request.what.is_confined())
        return placer_.place(free, ranges, request, pieces);
    note_fitting(free, ranges, request);
    if (request.what.is_contiguous())
        return place_consecutive(ranges, request, pieces);
    if (request.what.is_even())
        return split_evenly(ranges, request, pieces);
    return place_in_any_way(ranges, request, pieces);
}

void NodeChoice::note_fitting(const Amount *free, const Ranges &ranges, const Request &request) {
    fitting_.assign(ranges.count(), 0);
    usable_.clear();
    const Amount need = request.what.task(0);
    for (const std::int64_t range : ranges.in_order) {
        const auto at = static_cast<std::size_t>(range);
        const Amount *left = free + at * static_cast<std::size_t>(nodes_.num_resources);
        if (left[0] >= need)
            fitting_[at] = num_fitting_tasks(nodes_, left, ranges.first[at], request.what);
        if (fitting_[at] > 0)
            usable_.push_back(range);
    }
}

void NodeChoice::find_usable(const std::vector<std::int64_t> &fitting, std::int64_t least) {
    order_.clear();
    for (const std::int64_t range : usable_)
        if (fitting[static_cast<std::size_t>(range)] >= least)
            order_.push_back(range);
}

bool NodeChoice::place_in_any_way(const Ranges &ranges, const Request &request, Pieces &pieces) {
    for (std::int64_t least = 1; least <= kMany;) {
        find_usable(fitting_, least);
        const auto needed = topology_.sort(preference_, ranges, request, fitting_, order_);
        if (tightest_node_ && request.nodes_min == 1)
            put_tightest_first(request, needed.ranges);
        if (fill_greedily(ranges.size, request, fitting_, order_, pieces))
            return true;
        // Without the nodes that hold the fewest of those that are left.
        std::int64_t fewest = kFar;
        for (const std::int64_t range : usable_) {
            const std::int64_t fitting = fitting_[static_cast<std::size_t>(range)];
            if (fitting >= least)
                fewest = std::min(fewest, fitting);
        }
        least = fewest + 1;
    }
    find_usable(fitting_, 1);
    topology_.sort(preference_, ranges, request, fitting_, order_);
    return filling_.fill_with_lookahead(ranges.size, request, fitting_, order_, pieces);
}

void NodeChoice::put_tightest_first(const Request &request, std::size_t num_needed) {
    const auto end = order_.begin() + static_cast<std::ptrdiff_t>(num_needed);
    const auto fitting = [this](std::int64_t range) {
        return fitting_[static_cast<std::size_t>(range)];
    };
    auto best = end;
    for (auto at = order_.begin(); at != end; ++at)
        if (fitting(*at) >= request.tasks && (best == end || fitting(*at) < fitting(*best)))
            best = at;
    if (best != end)
        std::rotate(order_.begin(), best, best + 1);
}

bool NodeChoice::place_consecutive(const Ranges &ranges, const Request &request, Pieces &pieces) {
    if (!request.what.is_even()) {
        find_parts(nodes_, PartKind::kConsecutive, ranges, fitting_, 0, usable_, parts_);
        while (const auto best = best_part(parts_, request.tasks, request.nodes_min)) {
            Part &part = parts_[*best];
            part.used = true;
            // Of the lowest weight left; heavier ones may be enough.
            if (part.tasks < request.tasks || part.nodes < request.nodes_min)
                continue;
            order_.assign(usable_.begin() + static_cast<std::ptrdiff_t>(part.begin),
                          usable_.begin() + static_cast<std::ptrdiff_t>(part.end));
            if (fill_greedily(ranges.size, request, fitting_, order_, pieces))
                return true;
        }
        // What is tightest in all has too many nodes.
    }
    return consecutive_.place(nodes_.num_nodes, ranges, request, fitting_, request.what.is_even(),
                              pieces);
}

/// Put the same number of tasks on each of as few nodes as the bounds allow.
///
/// Nodes that hold fewer are out before parts and switches are compared, and others count for no
/// more than that number.
bool NodeChoice::split_evenly(const Ranges &ranges, const Request &request, Pieces &pieces) {
    std::int64_t num_usable = 0;
    for (std::size_t range = 0; range < ranges.count(); ++range)
        num_usable += fitting_[range] > 0 ? ranges.size[range] : 0;
    share_.resize(ranges.count());
    const std::int64_t most = std::min({request.nodes_max, request.tasks, num_usable});
    for (std::int64_t nodes = request.nodes_min; nodes <= most; ++nodes) {
        if (request.tasks % nodes != 0)
            continue;
        const std::int64_t each = request.tasks / nodes;
        for (std::size_t range = 0; range < ranges.count(); ++range)
            share_[range] = fitting_[range] >= each ? each : 0;
        Request exact = request;
        exact.nodes_min = exact.nodes_max = nodes;
        find_usable(share_, 1);
        topology_.sort(preference_, ranges, exact, share_, order_);
        if (cpsched::split_evenly(ranges.size, exact, share_, order_, pieces))
            return true;
    }
    pieces.clear();
    return false;
}

} // namespace cpsched::slurm
