#include "filling.h"

#include <algorithm>

namespace cpsched {

namespace {

/// Append nodes of a range, to the last piece if that is alike.
void append(Pieces &pieces, const Piece &piece) {
    if (!pieces.empty() && pieces.back().range == piece.range && pieces.back().tasks == piece.tasks)
        pieces.back().nodes += piece.nodes;
    else
        pieces.push_back(piece);
}

/// Put the same number of tasks on each of so many nodes, the first ones in order that hold them.
bool put_on_each(std::int64_t tasks, std::int64_t nodes, const std::vector<std::int64_t> &size,
                 const std::vector<std::int64_t> &fitting, const std::vector<std::int64_t> &order,
                 Pieces &pieces) {
    pieces.clear();
    std::int64_t left = nodes;
    for (const std::int64_t range : order) {
        if (fitting[range] < tasks)
            continue;
        pieces.push_back({range, std::min(size[range], left), tasks});
        left -= pieces.back().nodes;
        if (left == 0)
            return true;
    }
    pieces.clear();
    return false;
}

} // namespace

std::int64_t num_alike(std::int64_t tasks, std::int64_t fitting, std::int64_t nodes,
                       std::int64_t left, std::int64_t owed) {
    if (tasks == 1 && left == owed + 1)
        return std::min(nodes, left);
    if (tasks != fitting)
        return 1;
    if (owed == 0)
        return std::max<std::int64_t>(std::min(nodes, left / fitting), 1);
    if (fitting == 1)
        return std::min(nodes, owed);
    // A filled node takes one task that is owed and `fitting` - 1 of the others.
    return std::max<std::int64_t>(
        std::min({nodes, owed, 1 + (left - owed - fitting) / (fitting - 1)}), 1);
}

bool fill_greedily(const std::vector<std::int64_t> &size, const Request &request,
                   const std::vector<std::int64_t> &fitting, const std::vector<std::int64_t> &order,
                   Pieces &pieces) {
    pieces.clear();
    std::int64_t left = request.tasks;
    std::int64_t used = 0;
    for (const std::int64_t range : order) {
        std::int64_t nodes = std::min(size[range], request.nodes_max - used);
        while (nodes > 0 && left > 0) {
            const std::int64_t owed = std::max<std::int64_t>(request.nodes_min - used - 1, 0);
            const std::int64_t tasks = std::min(fitting[range], left - owed);
            const std::int64_t alike = num_alike(tasks, fitting[range], nodes, left, owed);
            append(pieces, {range, alike, tasks});
            left -= alike * tasks;
            used += alike;
            nodes -= alike;
        }
        if (left == 0)
            return true;
        if (used == request.nodes_max)
            break;
    }
    pieces.clear();
    return false;
}

bool split_evenly(const std::vector<std::int64_t> &size, const Request &request,
                  const std::vector<std::int64_t> &fitting, const std::vector<std::int64_t> &order,
                  Pieces &pieces) {
    pieces.clear();
    std::int64_t usable = 0;
    for (const std::int64_t range : order)
        usable += size[range];
    const std::int64_t most = std::min({request.nodes_max, request.tasks, usable});
    for (std::int64_t nodes = request.nodes_min; nodes <= most; ++nodes)
        if (request.tasks % nodes == 0 &&
            put_on_each(request.tasks / nodes, nodes, size, fitting, order, pieces))
            return true;
    return false;
}

bool Filling::fill_in_any_way(const Ranges &ranges, const Request &request,
                              const std::vector<std::int64_t> &fitting,
                              const std::vector<std::int64_t> &order, Pieces &pieces) {
    if (fill_greedily(ranges.size, request, fitting, order, pieces))
        return true;
    // With as many nodes as tasks, or more, greedily is well enough.
    return request.nodes_max < request.tasks && within_bounds(ranges, fitting, request) &&
           fill_with_lookahead(ranges.size, request, fitting, order, pieces);
}

bool Filling::fill_with_lookahead(const std::vector<std::int64_t> &size, const Request &request,
                                  const std::vector<std::int64_t> &fitting,
                                  const std::vector<std::int64_t> &order, Pieces &pieces) {
    pieces.clear();
    fitting_on_node_.clear();
    for (const std::int64_t range : order)
        fitting_on_node_.insert(fitting_on_node_.end(), static_cast<std::size_t>(size[range]),
                                fitting[range]);
    if (!look_ahead_.fill(fitting_on_node_, request, tasks_on_node_))
        return false;
    pieces_of(tasks_on_node_, size, order, pieces);
    return !pieces.empty();
}

bool Filling::fill_preferring(const std::vector<std::int64_t> &size, const Request &request,
                              const std::vector<std::int64_t> &fitting,
                              const std::vector<std::int64_t> &inside,
                              const std::vector<std::int64_t> &order, Pieces &pieces) {
    std::int64_t left = request.tasks;
    with_inside_.clear();
    for (const std::int64_t range : order) {
        if (inside[range] > 0) {
            left -= std::min(left, inside[range] * size[range]);
            with_inside_.push_back(range);
        }
    }
    if (left == 0)
        return fill_greedily(size, request, inside, with_inside_, pieces);
    pieces.clear();
    for (const std::int64_t range : order) {
        const std::int64_t more = fitting[range] - inside[range];
        const std::int64_t full = more > 0 ? std::min(size[range], left / more) : 0;
        std::int64_t rest = size[range] - full;
        left -= full * more;
        if (full > 0)
            pieces.push_back({range, full, fitting[range]});
        if (rest > 0 && 0 < left && left < more) {
            pieces.push_back({range, 1, inside[range] + left});
            left = 0;
            --rest;
        }
        if (rest > 0 && inside[range] > 0)
            pieces.push_back({range, rest, inside[range]});
    }
    if (left > 0)
        pieces.clear();
    return left == 0;
}

} // namespace cpsched
