#include "extra_nodes.h"

#include <algorithm>

namespace cpsched {

namespace {

/// Say whether one class asks for no less than another: where that fits nowhere, this does not.
bool asks_for_as_much(const RequestClass &what, const RequestClass &other, int num_resources) {
    if (what.eligible_class() != other.eligible_class() ||
        (other.is_exclusive() && !what.is_exclusive()))
        return false;
    for (int r = 0; r < num_resources; ++r)
        if (what.task(r) < other.task(r) || what.per_node(r) < other.per_node(r))
            return false;
    return true;
}

} // namespace

ExtraNodes::ExtraNodes(PassContext &context)
    : context_(context), total_(static_cast<std::size_t>(context.nodes.num_resources)),
      largest_(total_.size()) {}

void ExtraNodes::begin_pass(const Availability &availability, std::size_t now, std::size_t then) {
    fits_.clear();
    fit_at_.resize(static_cast<std::size_t>(context_.nodes.requests.size()));
    availability_ = &availability;
    now_ = now;
    then_ = then;
    is_current_ = false;
}

void ExtraNodes::follow() {
    if (is_current_)
        return;
    is_current_ = true;
    const std::size_t width = total_.size();
    const Ranges &ranges = availability_->ranges();
    const Amount *now = availability_->level(now_);
    const Amount *then = availability_->level(then_);
    ++version_;
    unfitting_.clear();
    least_.resize(ranges.count() * width);
    std::fill(total_.begin(), total_.end(), 0);
    std::fill(largest_.begin(), largest_.end(), 0);
    const bool are_summed = context_.free.are_summed();
    std::size_t at = 0;
    for (std::size_t range = 0; range < ranges.count(); ++range) {
        for (std::size_t r = 0; r < width; ++r, ++at) {
            const Amount least = std::min(now[at], then[at]);
            least_[at] = least;
            if (are_summed)
                total_[r] += least * ranges.size[range];
            largest_[r] = std::max(largest_[r], least);
        }
    }
}

const ExtraNodes::Fit *ExtraNodes::known(std::int64_t request_id) const {
    const std::size_t at = fit_at_[static_cast<std::size_t>(request_id)];
    return at < fits_.size() && fits_[at].request_id == request_id ? &fits_[at] : nullptr;
}

ExtraNodes::Fit &ExtraNodes::fit_of(std::int64_t request_id) {
    if (known(request_id) == nullptr) {
        fit_at_[static_cast<std::size_t>(request_id)] = fits_.size();
        fits_.emplace_back().request_id = request_id;
    }
    return fits_[fit_at_[static_cast<std::size_t>(request_id)]];
}

bool ExtraNodes::is_known_short(std::int64_t request_id, std::int64_t tasks) const {
    const Fit *fit = known(request_id);
    return fit != nullptr && fit->tasks < tasks;
}

bool ExtraNodes::may_fit(const Request &request) {
    follow();
    const bool with_counts = !context_.free.is_unbounded(request);
    const Fit *fit = known(request.request_id);
    if (fit == nullptr || fit->version != version_ || (with_counts && !fit->has_counts)) {
        if (is_excluded(request))
            return false;
        Fit &counted = fit_of(request.request_id);
        count(request, with_counts, counted);
        if (counted.tasks == 0 && unfitting_.size() < kMostUnfitting)
            unfitting_.push_back(request.request_id);
        fit = &counted;
    }
    return fit->tasks >= request.tasks &&
           context_.free.within_counts(request, with_counts ? &fit->counts : nullptr);
}

bool ExtraNodes::is_excluded(const Request &request) const {
    const int width = context_.nodes.num_resources;
    if (context_.free.are_summed()) {
        if (!context_.free.enough_in_all(span_of(total_), request))
            return true;
        const std::int64_t num_nodes = std::min(request.nodes_max, request.tasks);
        for (int r = 0; r < width; ++r) {
            const Amount need = request.what.task(r);
            const Amount largest = largest_[static_cast<std::size_t>(r)];
            if (need > 0 && num_nodes * (largest / need) < request.tasks)
                return true;
        }
    }
    return std::any_of(unfitting_.begin(), unfitting_.end(), [&](std::int64_t other) {
        return asks_for_as_much(request.what, context_.nodes.requests[other], width);
    });
}

void ExtraNodes::count(const Request &request, bool with_counts, Fit &fit) {
    fit.version = version_;
    fit.tasks = 0;
    fit.has_counts = with_counts;
    if (with_counts)
        fit.counts.clear();
    const Ranges &ranges = availability_->ranges();
    for (const std::int64_t range : ranges.in_order) {
        const auto at = static_cast<std::size_t>(range);
        const std::int64_t size = ranges.size[at];
        const std::int64_t tasks =
            num_fitting_tasks(context_.nodes, free() + range * context_.nodes.num_resources,
                              ranges.first[at], request.what);
        fit.tasks += tasks * size;
        if (with_counts)
            fit.counts.add(tasks, size);
    }
}

} // namespace cpsched
