#include "node_bounds.h"

#include <algorithm>

namespace cpsched {

namespace {

/// Say whether the nodes_max nodes that hold most hold a job; `most` is what one holds at most.
bool best_nodes_hold(const Ranges &ranges, const std::vector<std::int64_t> &fitting,
                     std::int64_t most, const Request &request) {
    std::int64_t nodes_left = request.nodes_max;
    if (most >= request.tasks)
        return nodes_left > 0;
    if (most * nodes_left < request.tasks)
        return false;
    std::int64_t tasks = 0;
    // From one number of tasks to the next smaller: nodes are many, but such numbers are few.
    std::int64_t on_each = most;
    while (on_each > 0 && nodes_left > 0 && tasks < request.tasks) {
        std::int64_t count = 0;
        std::int64_t next = 0;
        for (const std::int64_t range : ranges.in_order) {
            if (fitting[range] == on_each)
                count += ranges.size[range];
            else if (fitting[range] < on_each)
                next = std::max(next, fitting[range]);
        }
        const std::int64_t used = std::min(count, nodes_left);
        tasks += used * on_each;
        nodes_left -= used;
        on_each = next;
    }
    return tasks >= request.tasks;
}

/// Say the same as `within_bounds` of a job where `count` nodes hold a task or more, and one holds
/// `most`.
bool within_bounds(const Ranges &ranges, const std::vector<std::int64_t> &fitting,
                   std::int64_t count, std::int64_t most, const Request &request) {
    if (count < request.nodes_min || request.tasks < request.nodes_min)
        return false;
    const bool few = request.nodes_max < std::min(request.tasks, count);
    return !few || best_nodes_hold(ranges, fitting, most, request);
}

} // namespace

bool within_bounds(const Ranges &ranges, const std::vector<std::int64_t> &fitting,
                   const Request &request) {
    std::int64_t count = 0;
    std::int64_t most = 0;
    for (const std::int64_t range : ranges.in_order) {
        if (fitting[range] > 0) {
            count += ranges.size[range];
            most = std::max(most, fitting[range]);
        }
    }
    return within_bounds(ranges, fitting, count, most, request);
}

std::int64_t shortage(const Nodes &nodes, const Amount *free, const Ranges &ranges,
                      const Request &request, std::vector<std::int64_t> &fitting) {
    const std::int64_t tasks = request.tasks;
    const std::int64_t nodes_max = request.nodes_max;
    const Amount need = request.what.task(0);
    // So many nodes with an even share each are enough for a job that may not have more.
    const std::int64_t share =
        0 < nodes_max && nodes_max < tasks ? divided_up(tasks, nodes_max) : kFar;
    std::int64_t total = 0;
    std::int64_t count = 0;
    std::int64_t largest = 0;
    std::int64_t with_share = 0;
    fitting.resize(ranges.count());
    for (const std::int64_t range : ranges.in_order) {
        const Amount *left = free + range * nodes.num_resources;
        const std::int64_t here =
            left[0] < need
                ? 0
                : num_fitting_tasks(nodes, left, ranges.first[range], request.what, tasks);
        fitting[range] = here;
        if (here == 0)
            continue;
        total += ranges.size[range] * here;
        count += ranges.size[range];
        largest = std::max(largest, here);
        if (here >= share) {
            with_share += ranges.size[range];
            if (with_share >= nodes_max && nodes_max >= request.nodes_min)
                return kFits;
        }
        if (total >= tasks && count >= request.nodes_min && nodes_max >= tasks)
            return tasks >= request.nodes_min ? kFits : kFar;
    }
    if (nodes_max == 1 && largest < tasks)
        return largest;
    if (total < tasks)
        return total;
    return within_bounds(ranges, fitting, count, largest, request) ? kFits : kFar;
}

} // namespace cpsched
