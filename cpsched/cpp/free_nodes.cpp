#include "free_nodes.h"

#include <algorithm>
#include <cstring>

namespace cpsched {

namespace {

/// Say whether sums of each resource over all nodes stay within 64 bits.
bool sums_fit(const Nodes &nodes) {
    constexpr double kMost = 4611686018427387904.0; // 2^62
    for (int r = 0; r < nodes.num_resources; ++r) {
        double sum = 0;
        for (std::int64_t node = 0; node < nodes.num_nodes; ++node)
            sum += static_cast<double>(nodes.capacity_of(node)[r]);
        if (!(sum < kMost))
            return false;
    }
    return true;
}

/// Say whether a node differs from the previous one, whatever is free and whoever is eligible.
bool differs_by_nature(const Nodes &nodes, std::int64_t node) {
    const Amount *capacity = nodes.capacity_of(node);
    return !std::equal(capacity, capacity + nodes.num_resources, capacity - nodes.num_resources) ||
           nodes.group_of(0, node) != nodes.group_of(0, node - 1);
}

/// Let a range begin at each node that one of the masks has and the previous node has not, or the
/// other way round.
void begin_where_masks_differ(const Nodes &nodes, std::int64_t num_masks, RangeStarts &starts) {
    for (std::int64_t mask = 0; mask < num_masks; ++mask) {
        const std::uint8_t *eligible = nodes.eligible + mask * nodes.num_nodes;
        for (std::int64_t node = 1; node < nodes.num_nodes; ++node)
            if (eligible[node] != eligible[node - 1])
                starts.begin_at(node);
    }
}

} // namespace

void NodeCounts::clear() {
    counts_.fill(0);
    most_ = 0;
}

void NodeCounts::add(std::int64_t tasks, std::int64_t num_nodes) {
    const std::int64_t counted = std::min(tasks, kMostCounted);
    counts_[static_cast<std::size_t>(counted)] += num_nodes;
    most_ = std::max(most_, counted);
    while (most_ > 0 && with(most_) == 0)
        --most_;
}

bool NodeCounts::fit(std::int64_t num_nodes, std::int64_t tasks) const {
    for (std::int64_t each = most_; each > 0 && tasks > 0 && num_nodes > 0; --each) {
        const std::int64_t used = std::min(with(each), num_nodes);
        tasks -= used * each;
        num_nodes -= used;
    }
    return tasks <= 0;
}

FreeNodes::FreeNodes(const Nodes &nodes)
    : nodes_(nodes), apart_(nodes.num_nodes),
      free_(nodes.num_resources, nodes.capacity, single_range(nodes.num_nodes)),
      totals_(static_cast<std::size_t>(nodes.num_resources), 0), summed_(sums_fit(nodes)),
      change_(static_cast<std::size_t>(nodes.num_resources), 0) {
    if (summed_)
        for (std::int64_t node = 0; node < nodes.num_nodes; ++node)
            for (std::size_t r = 0; r < totals_.size(); ++r)
                totals_[r] += nodes.capacity_of(node)[r];
    masks_changed(true, 0);
    requests_changed();
}

void FreeNodes::begin_pass() {
    ++pass_;
    std::size_t kept = 0;
    for (const std::int64_t request_id : kept_up_) {
        Fit &fit = fit_of(request_id);
        if (fit.asked_in + kPassesKept < pass_)
            drop(fit);
        else
            kept_up_[kept++] = request_id;
    }
    kept_up_.resize(kept);
}

// --- changes -------------------------------------------------------------------------------------

void FreeNodes::follow(const Amount *free) {
    const auto width = static_cast<std::size_t>(nodes_.num_resources);
    for (std::int64_t first = 0; first < nodes_.num_nodes;) {
        const std::int64_t end = range_starts().end_of(first);
        const Amount *now = free + static_cast<std::size_t>(first) * width;
        const std::size_t others = static_cast<std::size_t>(end - first - 1) * width;
        // Every node has as much as the one before it, and the first as much as is known.
        if (!std::equal(now, now + width, of_range(first)) ||
            std::memcmp(now, now + width, others * sizeof(Amount)) != 0)
            follow_range(free, first, end);
        first = end;
    }
}

void FreeNodes::follow_range(const Amount *free, std::int64_t first, std::int64_t end) {
    const auto width = static_cast<std::size_t>(nodes_.num_resources);
    const std::vector<Amount> before(of_range(first), of_range(first) + width);
    while (first < end) {
        const Amount *now = free + static_cast<std::size_t>(first) * width;
        std::int64_t behind = first + 1;
        while (behind < end &&
               std::equal(now, now + width, free + static_cast<std::size_t>(behind) * width))
            ++behind;
        for (std::size_t r = 0; r < width; ++r)
            change_[r] = now[r] - before[r];
        if (std::any_of(change_.begin(), change_.end(), [](Amount more) { return more != 0; }))
            add(first, behind);
        first = behind;
    }
}

void FreeNodes::take(const RequestClass &what, const Placement &placement) {
    change(what, placement, -1);
}

void FreeNodes::give_back(const RequestClass &what, const Placement &placement) {
    change(what, placement, 1);
}

void FreeNodes::give_back(std::int64_t first, std::int64_t count, const Amount *amounts) {
    std::copy(amounts, amounts + nodes_.num_resources, change_.begin());
    add(first, first + count);
}

void FreeNodes::change(const RequestClass &what, const Placement &placement, int sign) {
    for (const NodeSpan &span : placement) {
        const std::int64_t behind = span.first + span.count;
        for (std::int64_t first = span.first; first < behind;) {
            // An exclusive job takes all that a node has, and a span may reach over unlike nodes.
            const std::int64_t end = std::min(apart_.end_of(first), behind);
            for (int r = 0; r < nodes_.num_resources; ++r)
                change_[static_cast<std::size_t>(r)] =
                    sign * what.amount_on(nodes_.capacity_of(first)[r], span.tasks, r);
            add(first, end);
            first = end;
        }
    }
}

void FreeNodes::add(std::int64_t first, std::int64_t end) {
    free_.split(first, end);
    if (summed_)
        for (std::size_t r = 0; r < totals_.size(); ++r)
            totals_[r] += change_[r] * (end - first);
    for (std::int64_t node = first; node < end;) {
        const std::int64_t behind = range_starts().end_of(node);
        count_fits(node, node - behind);
        free_.add_to_range(node, change_.data());
        count_fits(node, behind - node);
        node = behind;
    }
    free_.join(first, end, apart_);
}

void FreeNodes::count_fits(std::int64_t first, std::int64_t num_nodes) {
    for (const std::int64_t request_id : kept_up_) {
        Fit &fit = fit_of(request_id);
        const std::int64_t tasks =
            num_fitting_tasks(nodes_, of_range(first), first, nodes_.requests[request_id]);
        fit.tasks += num_nodes * tasks;
        if (fit.counts != kNoCounts)
            counts_[fit.counts].add(tasks, num_nodes);
    }
}

void FreeNodes::masks_changed(bool same_fits, std::int64_t num_masks) {
    if (!same_fits)
        forget_fits();
    const auto width = static_cast<std::size_t>(nodes_.num_resources);
    std::vector<Amount> by_node;
    by_node.reserve(static_cast<std::size_t>(nodes_.num_nodes) * width);
    for (std::int64_t node = 0; node < nodes_.num_nodes; ++node)
        by_node.insert(by_node.end(), free_.of(node), free_.of(node) + width);
    apart_ = single_range(nodes_.num_nodes);
    for (std::int64_t node = 1; node < nodes_.num_nodes; ++node)
        if (differs_by_nature(nodes_, node))
            apart_.begin_at(node);
    begin_where_masks_differ(nodes_, num_masks, apart_);
    free_ = RangedAmounts(nodes_.num_resources, by_node.data(), apart_);
}

void FreeNodes::requests_changed() {
    const RequestTable &requests = nodes_.requests;
    const auto count = static_cast<std::size_t>(requests.size());
    fits_.resize(std::max(fits_.size(), count));
    least_task_ = requests.size() > 0 ? requests[0].task(0) : 0;
    for (std::int64_t request_id = 1; request_id < requests.size(); ++request_id)
        least_task_ = std::min(least_task_, requests[request_id].task(0));
}

// --- how much fits -------------------------------------------------------------------------------

void FreeNodes::forget_fits() {
    for (const std::int64_t request_id : kept_up_)
        drop(fit_of(request_id));
    kept_up_.clear();
}

void FreeNodes::drop(Fit &fit) {
    fit.tasks = -1;
    if (fit.counts != kNoCounts)
        unused_counts_.push_back(fit.counts);
    fit.counts = kNoCounts;
}

bool FreeNodes::enough_in_all(Span<const Amount> totals, const Request &request) const {
    for (int r = 0; r < nodes_.num_resources; ++r) {
        const Amount need = request.what.task(r);
        if (need > 0 && totals[static_cast<std::size_t>(r)] / need < request.tasks)
            return false;
    }
    return true;
}

void FreeNodes::keep_up(std::int64_t request_id) {
    Fit &fit = fit_of(request_id);
    if (unused_counts_.empty() && counts_.size() < kClassesCounted) {
        unused_counts_.push_back(counts_.size());
        counts_.emplace_back();
    }
    if (!unused_counts_.empty()) {
        fit.counts = unused_counts_.back();
        unused_counts_.pop_back();
        counts_[fit.counts].clear();
    }
    fit.tasks = 0;
    const RequestClass what = nodes_.requests[request_id];
    for (std::int64_t node = 0; node < nodes_.num_nodes;) {
        const std::int64_t end = range_starts().end_of(node);
        const std::int64_t tasks = num_fitting_tasks(nodes_, of_range(node), node, what);
        fit.tasks += tasks * (end - node);
        if (fit.counts != kNoCounts)
            counts_[fit.counts].add(tasks, end - node);
        node = end;
    }
    kept_up_.push_back(request_id);
}

std::int64_t FreeNodes::num_fitting(std::int64_t request_id) {
    if (fit_of(request_id).tasks < 0)
        keep_up(request_id);
    fit_of(request_id).asked_in = pass_;
    return fit_of(request_id).tasks;
}

const NodeCounts *FreeNodes::counts(std::int64_t request_id) const {
    const Fit &fit = fits_[static_cast<std::size_t>(request_id)];
    return fit.counts == kNoCounts ? nullptr : &counts_[fit.counts];
}

bool FreeNodes::holds_tasks(const Request &request) {
    if (known_fitting(request.request_id) < 0 && summed_ &&
        !enough_in_all(span_of(totals_), request))
        return false;
    return num_fitting(request.request_id) >= request.tasks;
}

bool FreeNodes::may_fit(const Request &request) {
    return holds_tasks(request) && within_counts(request, counts(request.request_id));
}

bool FreeNodes::within_counts(const Request &request, const NodeCounts *counts) const {
    if (counts == nullptr || is_unbounded(request))
        return true;
    const std::int64_t usable = nodes_.num_nodes - counts->with(0);
    if (request.tasks < request.nodes_min || usable < request.nodes_min)
        return false;
    if (request.nodes_max >= usable || counts->has_many())
        return true;
    return counts->fit(request.nodes_max, request.tasks);
}

// --- ranges --------------------------------------------------------------------------------------

void FreeNodes::ranges_with_room(const RequestClass &what, Ranges &ranges,
                                 std::vector<Amount> &free) const {
    ranges.clear();
    free.clear();
    for (std::int64_t node = 0; node < nodes_.num_nodes;) {
        const std::int64_t end = range_starts().end_of(node);
        if (num_fitting_tasks(nodes_, of_range(node), node, what, 1) > 0) {
            ranges.in_order.push_back(static_cast<std::int64_t>(ranges.count()));
            ranges.first.push_back(node);
            ranges.size.push_back(end - node);
            free.insert(free.end(), of_range(node), of_range(node) + nodes_.num_resources);
        }
        node = end;
    }
}

} // namespace cpsched
