#include "node_order.h"

#include <algorithm>

namespace cpsched {

namespace {

/// What spreading over idle nodes counts, as a share of all that could be lost.
constexpr double kSpread = 1e-2;

double share_of(Amount amount, Amount whole) {
    return static_cast<double>(amount) / static_cast<double>(whole);
}

double square(double value) {
    return value * value;
}

TopologyOrder::Preference preference_of(Allocator allocator) {
    if (allocator == Allocator::kLowestSwitch)
        return TopologyOrder::Preference::kLowestSwitch;
    if (allocator == Allocator::kFewestGroups)
        return TopologyOrder::Preference::kFewestGroups;
    return TopologyOrder::Preference::kContiguous;
}

} // namespace

void NodeOrder::find(const Amount *free, const Ranges &ranges, const Request &request,
                     std::vector<std::int64_t> &fitting, std::vector<std::int64_t> &order) {
    fitting.resize(ranges.count());
    order.clear();
    for (const std::int64_t range : ranges.in_order) {
        fitting[range] = num_fitting_tasks(nodes_, free + range * nodes_.num_resources,
                                           ranges.first[range], request.what);
        if (fitting[range] > 0)
            order.push_back(range);
    }
    if (allocator_ == Allocator::kFirstFit || order.size() < 2)
        return;
    if (keeps_together(allocator_)) {
        topology_.sort(preference_of(allocator_), ranges, request, fitting, order);
        return;
    }
    if (allocator_ == Allocator::kFgd)
        find_losses(free, ranges, request, fitting, order);
    sorted_.clear();
    for (const std::int64_t range : order) {
        double key = 0.0;
        if (allocator_ == Allocator::kFgd)
            key = loss_[sorted_.size()];
        else if (allocator_ == Allocator::kBestFit)
            key = static_cast<double>(fitting[range]);
        else
            key = key_of(free + range * nodes_.num_resources, ranges.first[range], request.what);
        sorted_.push_back({key, range});
    }
    std::stable_sort(sorted_.begin(), sorted_.end(),
                     [](const Sorted &a, const Sorted &b) { return a.key < b.key; });
    std::transform(sorted_.begin(), sorted_.end(), order.begin(),
                   [](const Sorted &sorted) { return sorted.range; });
}

/// That is more than every node has, where a task could do with that. A resource of which other
/// nodes have nothing always counts; for spare-scarce it counts a little more where some of it is
/// free, and what all have, but not as much of, counts only there.
double NodeOrder::waste(Amount asked, Amount least, Amount capacity, Amount free) const {
    if (asked > least || capacity <= least)
        return 0.0;
    const double always = least == 0 ? nodes_.num_resources + 1.0 : 0.0;
    return allocator_ == Allocator::kSpareScarce && free > least ? always + 1.0 : always;
}

double NodeOrder::key_of(const Amount *free, std::int64_t node, const RequestClass &what) const {
    const Amount *capacity = nodes_.capacity_of(node);
    double idle = 0.0;
    double wasted = 0.0;
    for (int r = 0; r < nodes_.num_resources; ++r) {
        if (capacity[r] <= 0)
            continue;
        idle += share_of(free[r], capacity[r]);
        wasted +=
            waste(what.task(r) + what.per_node(r), nodes_.least_capacity[r], capacity[r], free[r]);
    }
    if (allocator_ == Allocator::kPack)
        return idle;
    // Nodes differ by at most the number of resources in idleness, so waste always outweighs it.
    if (allocator_ == Allocator::kBalanced)
        return std::min(wasted, 1.0) * (nodes_.num_resources + 1) - idle;
    return wasted * (nodes_.num_resources + 1) + idle;
}

void NodeOrder::fill_each(const Amount *free, const Ranges &ranges, const Request &request,
                          const std::vector<std::int64_t> &fitting,
                          const std::vector<std::int64_t> &order) {
    takes_.clear();
    after_.clear();
    spread_.assign(order.size(), 0.0);
    const std::int64_t most = divided_up(request.tasks, request.nodes_min);
    for (std::size_t at = 0; at < order.size(); ++at) {
        const std::int64_t range = order[at];
        const Amount *left = free + range * nodes_.num_resources;
        const Amount *capacity = nodes_.capacity_of(ranges.first[range]);
        const std::int64_t tasks = std::min(fitting[range], most);
        takes_.push_back(static_cast<double>(tasks));
        for (int r = 0; r < nodes_.num_resources; ++r) {
            const Amount after = left[r] - request.what.amount_on(capacity[r], tasks, r);
            after_.push_back(after);
            if (capacity[r] > 0)
                spread_[at] +=
                    square(share_of(left[r], capacity[r])) - square(share_of(after, capacity[r]));
        }
    }
}

double NodeOrder::add_loss(const WantedRequest &wanted, const Amount *free, const Ranges &ranges,
                           const std::vector<std::int64_t> &order) {
    const RequestClass what = nodes_.requests[wanted.request_id];
    times_.clear();
    std::int64_t on_all = 0;
    for (const std::int64_t range : order) {
        const std::int64_t tasks = num_fitting_tasks(nodes_, free + range * nodes_.num_resources,
                                                     ranges.first[range], what);
        times_.push_back(tasks / wanted.tasks_together);
        on_all += times_.back() * ranges.size[range];
    }
    const double weight = share_of(wanted.weight, 1 + on_all);
    for (std::size_t at = 0; at < order.size(); ++at) {
        if (times_[at] == 0)
            continue;
        const Amount *after = after_.data() + at * static_cast<std::size_t>(nodes_.num_resources);
        const std::int64_t tasks = num_fitting_tasks(nodes_, after, ranges.first[order[at]], what);
        const std::int64_t times = tasks / wanted.tasks_together;
        loss_[at] += weight * static_cast<double>(times_[at] - times);
    }
    return weight;
}

/// What is lost is how often a wanted request class fits on a node before and not after, for each
/// task of this job.
void NodeOrder::find_losses(const Amount *free, const Ranges &ranges, const Request &request,
                            const std::vector<std::int64_t> &fitting,
                            const std::vector<std::int64_t> &order) {
    fill_each(free, ranges, request, fitting, order);
    loss_.assign(order.size(), 0.0);
    double total = 0.0;
    for (const WantedRequest &wanted : nodes_.wanted) {
        if (wanted.weight == 0)
            break;
        total += add_loss(wanted, free, ranges, order);
    }
    for (std::size_t at = 0; at < order.size(); ++at)
        loss_[at] = (loss_[at] - kSpread * total * spread_[at]) / takes_[at];
}

} // namespace cpsched
