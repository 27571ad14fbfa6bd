#include "consecutive.h"

#include <algorithm>

namespace cpsched {

namespace {

/// Say whether consecutive nodes have whole segments in each group of the lowest level, and are in
/// no more groups than switches allow.
bool keeps_segments(const Nodes &nodes, std::int64_t begin, std::int64_t end, std::int64_t segment,
                    std::int64_t max_switches) {
    std::int64_t groups = 1;
    std::int64_t in_group = 0;
    for (std::int64_t node = begin; node < end; ++node) {
        if (node > begin && nodes.group_of(0, node) != nodes.group_of(0, node - 1)) {
            if (in_group % segment != 0)
                return false;
            ++groups;
            in_group = 0;
        }
        ++in_group;
    }
    return in_group % segment == 0 && (max_switches == 0 || groups <= max_switches);
}

} // namespace

bool ConsecutiveNodes::place(std::int64_t num_nodes, const Ranges &ranges, const Request &request,
                             const std::vector<std::int64_t> &fitting, bool even, Pieces &pieces) {
    pieces.clear();
    note_fitting(num_nodes, ranges, fitting, kFar);
    const std::int64_t most = std::min({request.nodes_max, request.tasks, num_nodes});
    if (even ? !take_evenly(most, request) : !take_in_any_way(most, request))
        return false;
    collect(ranges, pieces);
    return true;
}

bool ConsecutiveNodes::place_confined(const Nodes &nodes, const Ranges &ranges,
                                      const Request &request,
                                      const std::vector<std::int64_t> &fitting, bool even,
                                      Pieces &pieces) {
    pieces.clear();
    note_fitting(nodes.num_nodes, ranges, fitting, request.tasks);
    const std::int64_t segment = std::max<std::int64_t>(request.what.segment(), 1);
    const std::int64_t most = std::min(request.nodes_max, request.tasks);
    for (std::int64_t count = divided_up(request.nodes_min, segment) * segment; count <= most;
         count += segment) {
        if (even && request.tasks % count != 0)
            continue;
        if (take_confined(nodes, count, request, even)) {
            collect(ranges, pieces);
            return true;
        }
    }
    return false;
}

void ConsecutiveNodes::note_fitting(std::int64_t num_nodes, const Ranges &ranges,
                                    const std::vector<std::int64_t> &fitting, std::int64_t most) {
    fitting_.assign(static_cast<std::size_t>(num_nodes), 0);
    tasks_on_.assign(static_cast<std::size_t>(num_nodes), 0);
    for (const std::int64_t range : ranges.in_order)
        std::fill_n(fitting_.begin() + ranges.first[range], ranges.size[range],
                    std::min(fitting[range], most));
}

bool ConsecutiveNodes::take_evenly(std::int64_t most_nodes, const Request &request) {
    const auto num_nodes = static_cast<std::int64_t>(fitting_.size());
    for (std::int64_t count = request.nodes_min; count <= most_nodes; ++count) {
        if (request.tasks % count != 0)
            continue;
        const std::int64_t share = request.tasks / count;
        std::int64_t in_a_row = 0;
        for (std::int64_t node = 0; node < num_nodes; ++node) {
            in_a_row = fitting_[node] >= share ? in_a_row + 1 : 0;
            if (in_a_row == count) {
                std::fill_n(tasks_on_.begin() + (node + 1 - count), count, share);
                return true;
            }
        }
    }
    return false;
}

bool ConsecutiveNodes::take_in_any_way(std::int64_t most_nodes, const Request &request) {
    const auto num_nodes = static_cast<std::int64_t>(fitting_.size());
    std::int64_t shortest = most_nodes + 1;
    std::int64_t begin = 0;
    // The nodes [low, node], as few as hold the job, and what they hold.
    std::int64_t low = 0;
    std::int64_t total = 0;
    for (std::int64_t node = 0; node < num_nodes; ++node) {
        if (fitting_[node] < 1) {
            low = node + 1;
            total = 0;
            continue;
        }
        total += fitting_[node];
        while (node - low + 1 > request.nodes_min && total - fitting_[low] >= request.tasks)
            total -= fitting_[low++];
        const std::int64_t count = node - low + 1;
        if (total >= request.tasks && request.nodes_min <= count && count < shortest) {
            shortest = count;
            begin = low;
        }
    }
    if (shortest > most_nodes)
        return false;
    fill(begin, shortest, request.tasks);
    return true;
}

bool ConsecutiveNodes::take_confined(const Nodes &nodes, std::int64_t count, const Request &request,
                                     bool even) {
    const std::int64_t segment = std::max<std::int64_t>(request.what.segment(), 1);
    const std::int64_t least = even ? request.tasks / count : 1;
    std::int64_t begin = 0;
    std::int64_t total = 0;
    for (std::int64_t node = 0; node < nodes.num_nodes; ++node) {
        total += fitting_[node];
        while (node - begin >= count)
            total -= fitting_[begin++];
        if (fitting_[node] < least) {
            begin = node + 1;
            total = 0;
        }
        if (node - begin + 1 < count || total < request.tasks ||
            !keeps_segments(nodes, begin, node + 1, segment, request.what.max_switches()))
            continue;
        if (even)
            std::fill_n(tasks_on_.begin() + begin, count, least);
        else
            fill(begin, count, request.tasks);
        return true;
    }
    return false;
}

void ConsecutiveNodes::fill(std::int64_t begin, std::int64_t count, std::int64_t tasks) {
    for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t owed = count - 1 - i;
        tasks_on_[begin + i] = std::min(fitting_[begin + i], tasks - owed);
        tasks -= tasks_on_[begin + i];
    }
}

void ConsecutiveNodes::collect(const Ranges &ranges, Pieces &pieces) {
    in_order_.clear();
    for (const std::int64_t range : ranges.in_order) {
        const auto first = tasks_on_.begin() + ranges.first[range];
        in_order_.insert(in_order_.end(), first, first + ranges.size[range]);
    }
    pieces_of(in_order_, ranges.size, ranges.in_order, pieces);
}

} // namespace cpsched
