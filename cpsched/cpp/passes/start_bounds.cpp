#include "passes/start_bounds.h"

#include <algorithm>

namespace cpsched {

void StartBounds::clear() {
    // There may be many more request classes than have been planned.
    for (const std::size_t number : numbers_)
        place_of_[number] = -1;
    numbers_.clear();
    place_of_.resize(2 * static_cast<std::size_t>(nodes_.requests.size()), -1);
    num_known_ = 0;
}

StartBounds::Known &StartBounds::of(const Request &request) {
    const std::int64_t number = 2 * request.request_id + (request.nodes_max == 1 ? 1 : 0);
    std::int64_t &place = place_of_[number];
    if (place < 0) {
        numbers_.push_back(static_cast<std::size_t>(number));
        place = static_cast<std::int64_t>(num_known_++);
        if (known_.size() < num_known_)
            known_.emplace_back();
        known_[num_known_ - 1].num_noted = 0;
        known_[num_known_ - 1].most_fitting.clear();
    }
    return known_[place];
}

bool StartBounds::is_plain(const Request &request) const {
    return request.nodes_min == 1 && request.nodes_max >= nodes_.num_nodes &&
           !request.what.is_even() && !request.what.is_confined();
}

Time StartBounds::earliest(const Request &request, Time now) {
    const Known &known = of(request);
    const bool plain = is_plain(request);
    Time start = now;
    for (std::size_t i = 0; i < known.num_planned(); ++i) {
        const Planned &job = known.planned[i];
        const bool same_bounds =
            job.nodes_min == request.nodes_min && job.nodes_max == request.nodes_max;
        const bool is_easier = plain && job.is_plain && job.tasks <= request.tasks;
        const bool is_alike = same_bounds && job.tasks == request.tasks;
        if (job.duration <= request.duration && (is_easier || is_alike))
            start = std::max(start, job.start);
    }
    return start;
}

void StartBounds::note(const Request &request, Time start) {
    Known &known = of(request);
    const Planned planned{request.tasks,     request.duration,  start,
                          request.nodes_min, request.nodes_max, is_plain(request)};
    for (std::size_t i = 0; i < known.num_planned(); ++i) {
        Planned &job = known.planned[i];
        if (job.duration < planned.duration || job.start > start ||
            job.is_plain != planned.is_plain)
            continue;
        const bool same_bounds =
            job.nodes_min == planned.nodes_min && job.nodes_max == planned.nodes_max;
        const bool is_harder = planned.is_plain && job.tasks >= planned.tasks;
        if (is_harder || (same_bounds && job.tasks == planned.tasks)) {
            job = planned;
            return;
        }
    }
    known.planned[known.num_noted % Known::kMostPlanned] = planned;
    ++known.num_noted;
}

WindowSearch::MostFitting &StartBounds::most_fitting(const Request &request,
                                                     const Availability &profile) {
    WindowSearch::MostFitting &most = of(request).most_fitting;
    for (std::size_t row = most.size(); row < profile.num_segments(); ++row) {
        const std::size_t source = profile.source(row);
        most.push_back(source < row ? most[source] : kFar);
    }
    return most;
}

} // namespace cpsched
