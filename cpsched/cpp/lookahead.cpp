#include "lookahead.h"

#include <algorithm>
#include <numeric>

namespace cpsched {

void LookAhead::sort_by_fitting(const std::vector<std::int64_t> &fitting) {
    by_fitting_.resize(fitting.size());
    std::iota(by_fitting_.begin(), by_fitting_.end(), 0);
    std::stable_sort(by_fitting_.begin(), by_fitting_.end(),
                     [&](std::int64_t a, std::int64_t b) { return fitting[a] > fitting[b]; });
    place_.resize(fitting.size());
    std::int64_t place = 0;
    for (const std::int64_t node : by_fitting_)
        place_[node] = place++;
    is_behind_.assign(fitting.size(), 1);
}

LookAhead::Best LookAhead::first_best(const std::vector<std::int64_t> &fitting,
                                      std::int64_t nodes_max) const {
    const std::int64_t nodes = std::min(nodes_max, static_cast<std::int64_t>(fitting.size()));
    std::int64_t tasks = 0;
    for (std::int64_t place = 0; place < nodes; ++place)
        tasks += fitting[by_fitting_[place]];
    return {nodes - 1, nodes, tasks};
}

void LookAhead::replace(Best &best, std::int64_t node,
                        const std::vector<std::int64_t> &fitting) const {
    best.tasks -= fitting[node];
    --best.nodes;
    const auto count = static_cast<std::int64_t>(fitting.size());
    std::int64_t next = best.last_place + 1;
    while (next < count && !is_behind_[next])
        ++next;
    if (next == count)
        return;
    best.last_place = next;
    best.tasks += fitting[by_fitting_[next]];
    ++best.nodes;
}

LookAhead::Best LookAhead::without_last(const Best &best,
                                        const std::vector<std::int64_t> &fitting) const {
    std::int64_t last = best.last_place;
    while (!is_behind_[last])
        --last;
    return {last - 1, best.nodes - 1, best.tasks - fitting[by_fitting_[last]]};
}

bool LookAhead::fill(const std::vector<std::int64_t> &fitting, const Request &request,
                     std::vector<std::int64_t> &tasks_on) {
    tasks_on.assign(fitting.size(), 0);
    sort_by_fitting(fitting);
    Best best = first_best(fitting, request.nodes_max);
    if (best.tasks < request.tasks)
        return false;
    std::int64_t left = request.tasks;
    std::int64_t used = 0;
    for (std::size_t node = 0; node < fitting.size(); ++node) {
        is_behind_[place_[node]] = 0;
        if (place_[node] <= best.last_place)
            replace(best, static_cast<std::int64_t>(node), fitting);
        // If this node is taken, one fewer of the others may be used.
        const bool all_used = best.nodes == request.nodes_max - used;
        const Best others = all_used ? without_last(best, fitting) : best;
        const std::int64_t owed = std::max<std::int64_t>(request.nodes_min - used - 1, 0);
        const std::int64_t tasks = std::min(fitting[node], left - owed);
        if (left - tasks > others.tasks)
            continue;
        tasks_on[node] = tasks;
        left -= tasks;
        if (left == 0)
            break;
        ++used;
        best = others;
    }
    return true;
}

} // namespace cpsched
