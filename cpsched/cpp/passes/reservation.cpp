#include "reservation.h"

#include <algorithm>

namespace cpsched {

namespace {

/// The running jobs looked at first, and the factor by which more are.
constexpr std::size_t kFirstEnds = 16;
constexpr std::size_t kMoreEnds = 8;

} // namespace

Reservation::Reservation(PassContext &context) : context_(context), availability_(context.nodes) {}

bool Reservation::find(const Request &request, bool prefers_busy) {
    const Span<const Row> running = context_.now.running;
    for (std::size_t count = kFirstEnds;; count *= kMoreEnds) {
        begin(std::min(count, running.size()));
        const bool are_all = running_.size() == running.size();
        // What ends in that second or later is not looked at.
        const Time until = are_all ? kFar : end_of(running[running_.size()]);
        if (find_before(until, request, prefers_busy))
            return true;
        if (are_all)
            return false;
    }
}

void Reservation::begin(std::size_t num_running) {
    running_ = context_.now.running.part(0, num_running);
    availability_.begin(context_.free, context_.now, num_running, context_.starts);
    availability_.append(kFar);
    ended_ = 0;
    total_ = -1;
}

bool Reservation::find_before(Time until, const Request &request, bool prefers_busy) {
    Time before = context_.now.now;
    for (Time second = next_end(before); second < until; second = next_end(second)) {
        total_before_ = values_of(availability_.total(kThen));
        end_jobs(before, second);
        if (enough_in_all(request) && context_.free.within_counts(request, &counts_) &&
            place_at(second, request, prefers_busy))
            return true;
        before = second;
    }
    return false;
}

bool Reservation::find_at(Time second, const Request &request, bool prefers_busy) {
    const Span<const Row> running = context_.now.running;
    const auto ends_later = [this](Time until, Row row) { return end_of(row) > until; };
    const Row *behind = std::upper_bound(running.begin(), running.end(), second, ends_later);
    begin(static_cast<std::size_t>(behind - running.begin()));
    end_jobs(context_.now.now, second);
    return place_at(second, request, prefers_busy);
}

bool Reservation::place_at(Time second, const Request &request, bool prefers_busy) {
    time_ = second;
    return context_.placer.place_preferring(then(), excess(kThen, kNow, prefers_busy),
                                            availability_.ranges(), request, pieces_);
}

const Placement &Reservation::hold(const RequestClass &what) {
    availability_.split(pieces_);
    taken_ = values_of(availability_.total(kThen));
    availability_.take_off(kThen, what, pieces_);
    for (std::size_t r = 0; r < taken_.size(); ++r)
        taken_[r] -= availability_.total(kThen)[r];
    spans_of(pieces_, availability_.ranges(), placement_);
    return placement_;
}

const Amount *Reservation::excess(std::size_t row, std::size_t other, bool counts) {
    const std::size_t size =
        availability_.ranges().count() * static_cast<std::size_t>(context_.nodes.num_resources);
    excess_.assign(size, 0);
    if (counts) {
        const Amount *more = availability_.level(row);
        const Amount *less = availability_.level(other);
        for (std::size_t at = 0; at < size; ++at)
            excess_[at] = std::max<Amount>(more[at] - less[at], 0);
    }
    return excess_.data();
}

// --- jobs end ------------------------------------------------------------------------------------

Time Reservation::end_of(Row running) const {
    return std::max(context_.now.jobs[running].expected_end, context_.now.now + 1);
}

Time Reservation::end_of(const Starts::Start &start) const {
    return context_.now.now + context_.request_of(start.row).duration;
}

Time Reservation::next_end(Time after) const {
    Time next = ended_ < running_.size() ? end_of(running_[ended_]) : kFar;
    for (const Starts::Start &start : context_.starts.starts) {
        const Time end = end_of(start);
        if (after < end)
            next = std::min(next, end);
    }
    return next;
}

void Reservation::end_jobs(Time after, Time until) {
    const Snapshot &now = context_.now;
    for (; ended_ < running_.size() && end_of(running_[ended_]) <= until; ++ended_)
        availability_.give_back(kThen, now.jobs[running_[ended_]], now);
    for (const Starts::Start &start : context_.starts.starts)
        if (after < end_of(start) && end_of(start) <= until)
            availability_.give_back(kThen, context_.request_of(start.row).what,
                                    context_.starts.spans_of(start));
}

// --- how much fits then --------------------------------------------------------------------------

bool Reservation::enough_in_all(const Request &request) {
    if (context_.free.are_summed() &&
        !context_.free.enough_in_all(availability_.total(kThen), request))
        return false;
    // Starts may have given back something, too.
    if (total_ < 0 || !context_.starts.empty())
        count_all(request);
    else
        count_ended(request);
    counted_until_ = ended_;
    return total_ >= request.tasks;
}

void Reservation::count_all(const Request &request) {
    fitting_.assign(availability_.ranges().count(), 0);
    total_ = 0;
    counts_.clear();
    counts_.add(0, context_.nodes.num_nodes);
    for (const std::int64_t range : availability_.ranges().in_order)
        count_range(request, range);
}

void Reservation::count_ended(const Request &request) {
    const Snapshot &now = context_.now;
    for (const Row row : running_.part(counted_until_, ended_)) {
        const Job &job = now.jobs[row];
        for (std::int64_t k = job.alloc_first; k < job.alloc_first + job.alloc_count; ++k)
            availability_.for_ranges_of(now.allocated_first[k], now.allocated_nodes[k],
                                        [&](std::int64_t range) { count_range(request, range); });
    }
}

void Reservation::count_range(const Request &request, std::int64_t range) {
    const auto at = static_cast<std::size_t>(range);
    const Ranges &ranges = availability_.ranges();
    std::int64_t fitting =
        num_fitting_tasks(context_.nodes, then() + range * context_.nodes.num_resources,
                          ranges.first[at], request.what, request.tasks);
    if (request.nodes_max == 1 && fitting < request.tasks)
        fitting = 0;
    if (fitting == fitting_[at])
        return;
    total_ += (fitting - fitting_[at]) * ranges.size[at];
    counts_.add(fitting_[at], -ranges.size[at]);
    counts_.add(fitting, ranges.size[at]);
    fitting_[at] = fitting;
}

} // namespace cpsched
