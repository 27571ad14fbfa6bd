#include "placement.h"

#include <algorithm>

namespace cpsched {

namespace {

/// Return a job's request with other numbers of tasks and nodes.
Request on_nodes(Request request, std::int64_t tasks, std::int64_t nodes) {
    request.tasks = tasks;
    request.nodes_min = request.nodes_max = nodes;
    return request;
}

/// Say whether all nodes hold as many tasks.
bool are_equal(const std::vector<std::int64_t> &fitting, const std::vector<std::int64_t> &order) {
    return std::all_of(order.begin(), order.end(), [&](std::int64_t range) {
        return fitting[range] == fitting[order.front()];
    });
}

} // namespace

bool Placer::place(const Amount *free, const Ranges &ranges, const Request &request,
                   Pieces &pieces) {
    node_order_.find(free, ranges, request, fitting_, order_);
    if (request.what.is_confined())
        return place_confined(ranges, request, pieces);
    return fill_in_order(ranges, request, fitting_, order_, request.what.is_even(),
                         request.what.is_contiguous(), pieces);
}

bool Placer::fill_in_order(const Ranges &ranges, const Request &request,
                           const std::vector<std::int64_t> &fitting,
                           const std::vector<std::int64_t> &order, bool even, bool contiguous,
                           Pieces &pieces) {
    pieces.clear();
    if (request.tasks < request.nodes_min)
        return false;
    if (contiguous)
        return consecutive_.place(nodes_.num_nodes, ranges, request, fitting, even, pieces);
    if (even)
        return split_evenly(ranges.size, request, fitting, order, pieces);
    return filling_.fill_in_any_way(ranges, request, fitting, order, pieces);
}

bool Placer::place_confined(const Ranges &ranges, const Request &request, Pieces &pieces) {
    pieces.clear();
    if (request.tasks < request.nodes_min)
        return false;
    const bool even = request.what.is_even();
    if (request.what.is_contiguous())
        return consecutive_.place_confined(nodes_, ranges, request, fitting_, even, pieces);
    if (even)
        return split_confined(ranges, request, pieces);
    return fill_confined(ranges, request, fitting_, order_, pieces);
}

bool Placer::split_confined(const Ranges &ranges, const Request &request, Pieces &pieces) {
    share_.assign(ranges.count(), 0);
    const std::int64_t most = std::min(request.nodes_max, request.tasks);
    for (std::int64_t nodes = request.nodes_min; nodes <= most; ++nodes) {
        if (request.tasks % nodes != 0)
            continue;
        // A task for as many of them as each node has: all nodes are alike then.
        const std::int64_t each = request.tasks / nodes;
        with_share_.clear();
        for (const std::int64_t range : order_) {
            share_[range] = fitting_[range] >= each ? 1 : 0;
            if (share_[range] > 0)
                with_share_.push_back(range);
        }
        if (fill_confined(ranges, on_nodes(request, nodes, nodes), share_, with_share_, pieces)) {
            for (Piece &piece : pieces)
                piece.tasks *= each;
            return true;
        }
    }
    return false;
}

void Placer::order_by_groups(const Ranges &ranges, const Request &request,
                             const std::vector<std::int64_t> &fitting,
                             std::vector<std::int64_t> &order) {
    order.clear();
    for (const std::int64_t range : ranges.in_order)
        if (fitting[range] > 0)
            order.push_back(range);
    const TopologyOrder::Needed needed =
        topology_.sort(TopologyOrder::Preference::kFewestGroups, ranges, request, fitting, order);
    order.resize(needed.parts > request.what.max_switches() ? 0 : needed.ranges);
}

bool Placer::fill_confined(const Ranges &ranges, const Request &request,
                           const std::vector<std::int64_t> &fitting,
                           const std::vector<std::int64_t> &order, Pieces &pieces) {
    using Preference = SegmentChoice::Preference;
    if (request.what.max_switches() > 0)
        order_by_groups(ranges, request, fitting, reordered_);
    else
        reordered_ = order;
    std::int64_t nodes = 0;
    if (request.what.segment() > 0)
        nodes = segments_.choose(Preference::kInOrder, ranges, request, fitting, reordered_, used_);
    else if (filling_.fill_in_any_way(ranges, request, fitting, reordered_, pieces))
        return true;
    if (nodes == 0 && !are_equal(fitting, order)) {
        reordered_ = order;
        nodes =
            segments_.choose(Preference::kMostTasks, ranges, request, fitting, reordered_, used_);
    }
    pieces.clear();
    if (nodes == 0)
        return false;
    const Request exact = on_nodes(request, request.tasks, nodes);
    return fill_greedily(used_, exact, fitting, reordered_, pieces);
}

bool Placer::place_preferring(const Amount *free, const Amount *preferred, const Ranges &ranges,
                              const Request &request, Pieces &pieces) {
    if (keeps_together(allocator()) || request.what.is_confined())
        return place(free, ranges, request, pieces);
    node_order_.find(free, ranges, request, fitting_, order_);
    inside_.resize(ranges.count());
    std::int64_t total = 0;
    for (const std::int64_t range : order_) {
        total += fitting_[range] * ranges.size[range];
        const std::int64_t fitting = num_fitting_tasks(
            nodes_, preferred + range * nodes_.num_resources, ranges.first[range], request.what);
        inside_[range] = std::min(fitting, fitting_[range]);
    }
    pieces.clear();
    if (total < request.tasks)
        return false;
    if (may_spread(request))
        return filling_.fill_preferring(ranges.size, request, fitting_, inside_, order_, pieces);
    put_inside_first();
    return fill_in_order(ranges, request, fitting_, order_, request.what.is_even(),
                         request.what.is_contiguous(), pieces);
}

void Placer::put_inside_first() {
    reordered_.clear();
    for (const bool inside : {true, false})
        for (const std::int64_t range : order_)
            if ((inside_[range] > 0) == inside)
                reordered_.push_back(range);
    order_.swap(reordered_);
}

bool Placer::may_spread(const Request &request) const {
    if (request.nodes_min > 1 || request.nodes_max < std::min(request.tasks, nodes_.num_nodes))
        return false;
    for (int r = 0; r < nodes_.num_resources; ++r)
        if (request.what.per_node(r) > 0)
            return false;
    return !request.what.is_even() && !request.what.is_contiguous() && !request.what.is_exclusive();
}

} // namespace cpsched
