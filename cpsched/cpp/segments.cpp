#include "segments.h"

#include <algorithm>

namespace cpsched {

std::int64_t SegmentChoice::choose(Preference preference, const Ranges &ranges,
                                   const Request &request, const std::vector<std::int64_t> &fitting,
                                   std::vector<std::int64_t> &order,
                                   std::vector<std::int64_t> &used) {
    const bool most_tasks = preference == Preference::kMostTasks;
    const std::int64_t segment = std::max<std::int64_t>(request.what.segment(), 1);
    num_groups_ = nodes_.group_of(0, nodes_.num_nodes - 1) + 1;
    if (most_tasks)
        std::stable_sort(order.begin(), order.end(),
                         [&](std::int64_t a, std::int64_t b) { return fitting[a] > fitting[b]; });
    find_segments(ranges, fitting, order, segment);
    const Bounds bounds = {divided_up(request.nodes_min, segment),
                           std::min(std::min(request.nodes_max, request.tasks) / segment,
                                    static_cast<std::int64_t>(segments_.size())),
                           request.tasks};
    chosen_.assign(static_cast<std::size_t>(num_groups_), 0);
    const std::int64_t max_groups = request.what.max_switches();
    if (most_tasks && max_groups > 0 && max_groups < num_groups_) {
        choose_in_few_groups(bounds, max_groups);
    } else {
        if (most_tasks)
            std::stable_sort(segments_.begin(), segments_.end(),
                             [](const Segment &a, const Segment &b) { return a.tasks > b.tasks; });
        choose_first(bounds);
    }
    return use_chosen(ranges, segment, order, used);
}

void SegmentChoice::find_segments(const Ranges &ranges, const std::vector<std::int64_t> &fitting,
                                  const std::vector<std::int64_t> &order, std::int64_t segment) {
    segments_.clear();
    filled_nodes_.assign(static_cast<std::size_t>(num_groups_), 0);
    filled_tasks_.assign(static_cast<std::size_t>(num_groups_), 0);
    for (const std::int64_t range : order) {
        const std::int64_t group = nodes_.group_of(0, ranges.first[range]);
        std::int64_t left = ranges.size[range];
        while (left > 0) {
            const std::int64_t taken = std::min(segment - filled_nodes_[group], left);
            left -= taken;
            filled_nodes_[group] += taken;
            filled_tasks_[group] += taken * fitting[range];
            if (filled_nodes_[group] == segment) {
                segments_.push_back({group, filled_tasks_[group]});
                filled_nodes_[group] = filled_tasks_[group] = 0;
            }
        }
    }
}

/// Choose the first segments, as few as are enough.
void SegmentChoice::choose_first(const Bounds &bounds) {
    std::int64_t tasks = 0;
    std::int64_t count = 0;
    for (; count < bounds.most && (tasks < bounds.tasks || count < bounds.least); ++count) {
        tasks += segments_[count].tasks;
        ++chosen_[segments_[count].group];
    }
    if (tasks < bounds.tasks || count < bounds.least)
        std::fill(chosen_.begin(), chosen_.end(), 0);
}

std::int64_t SegmentChoice::sum_up(std::int64_t group, std::int64_t most) {
    std::int64_t count = 0;
    for (const Segment &segment : segments_) {
        if (segment.group == group && count < most) {
            held_[count + 1] = held_[count] + segment.tasks;
            ++count;
        }
    }
    return count;
}

/// Choose the fewest segments in so many groups that are enough; the first of a group hold most.
void SegmentChoice::choose_in_few_groups(const Bounds &bounds, std::int64_t max_groups) {
    if (bounds.most < std::max<std::int64_t>(bounds.least, 1))
        return;
    const std::int64_t most_groups = std::min(max_groups, bounds.most);
    const std::int64_t width = bounds.most + 1;
    const auto size = static_cast<std::size_t>((most_groups + 1) * width);
    best_.assign(size, -kFar);
    for (std::int64_t groups = 0; groups <= most_groups; ++groups)
        best_[groups * width] = 0;
    from_group_.assign(size * static_cast<std::size_t>(num_groups_), 0);
    held_.assign(static_cast<std::size_t>(width), 0);
    const auto of_group = [&](std::int64_t group) {
        return from_group_.data() + group * (most_groups + 1) * width;
    };
    for (std::int64_t group = 0; group < num_groups_; ++group) {
        const std::int64_t available = sum_up(group, bounds.most);
        std::int64_t *from = of_group(group);
        for (std::int64_t groups = most_groups; available > 0 && groups > 0; --groups) {
            for (std::int64_t count = bounds.most; count > 0; --count) {
                const std::int64_t at = groups * width + count;
                for (std::int64_t own = 1; own <= std::min(count, available); ++own) {
                    const std::int64_t tasks = best_[at - width - own] + held_[own];
                    if (tasks > best_[at]) {
                        best_[at] = tasks;
                        from[at] = own;
                    }
                }
            }
        }
    }
    std::int64_t count = std::max<std::int64_t>(bounds.least, 1);
    while (count <= bounds.most && best_[most_groups * width + count] < bounds.tasks)
        ++count;
    if (count > bounds.most)
        return;
    std::int64_t groups = most_groups;
    for (std::int64_t group = num_groups_ - 1; group >= 0; --group) {
        const std::int64_t own = of_group(group)[groups * width + count];
        if (own > 0) {
            chosen_[group] = own;
            count -= own;
            --groups;
        }
    }
}

std::int64_t SegmentChoice::use_chosen(const Ranges &ranges, std::int64_t segment,
                                       std::vector<std::int64_t> &order,
                                       std::vector<std::int64_t> &used) {
    used.resize(ranges.count());
    std::int64_t num_nodes = 0;
    for (std::int64_t &nodes : chosen_) {
        nodes *= segment;
        num_nodes += nodes;
    }
    std::size_t kept = 0;
    for (const std::int64_t range : order) {
        std::int64_t &left = chosen_[nodes_.group_of(0, ranges.first[range])];
        used[range] = std::min(ranges.size[range], left);
        left -= used[range];
        if (used[range] > 0)
            order[kept++] = range;
    }
    order.resize(kept);
    return num_nodes;
}

} // namespace cpsched
