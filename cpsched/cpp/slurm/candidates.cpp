#include "candidates.h"

namespace cpsched::slurm {

void Candidates::begin(std::vector<std::size_t> jobs) {
    const Time now = input_.now.now;
    jobs_ = std::move(jobs);
    fits_.assign(jobs_.size(), 0);
    look_ = 0;
    exceeded_.assign(jobs_.size(), {-1, -1});
    forget_requests();
    std::size_t end = 0;
    for (std::size_t place = 0; place < jobs_.size(); ++place) {
        const Record &record = input_.records[jobs_[place]];
        if (record.begins > now || input_.reservations.is_later(record.reservation, now))
            continue;
        const Request request = input_.request_of(jobs_[place]);
        const auto number = static_cast<std::size_t>(record.request_id);
        std::int64_t &fitting = known_[number].fitting;
        if (fitting < 0) {
            fitting = num_fitting(profile_.level(profile_.row(0)), request, kMany, kFar);
            seen_.push_back(number);
        }
        fits_[place] = fitting >= request.tasks && exceeded(place) < 0;
        end = fits_[place] != 0 ? place + 1 : end;
    }
    jobs_.resize(end);
    for (const std::size_t number : jobs_)
        input_.records[number].planned = -1;
    is_barred_.assign(jobs_.size(), 0);
    find_limited();
}

/// There are more request classes than jobs that wait: only what is known is forgotten.
void Candidates::forget_requests() {
    for (const std::size_t number : seen_)
        known_[number] = {};
    seen_.clear();
    known_.resize(static_cast<std::size_t>(input_.nodes.requests.size()));
}

std::int64_t Candidates::exceeded(std::size_t place) {
    Exceeded &last = exceeded_[place];
    if (last.look != look_)
        last = {input_.exceeded(jobs_[place]), look_};
    return last.counter;
}

std::int64_t Candidates::num_fitting(const Amount *free, const Request &request, std::int64_t most,
                                     std::int64_t enough) const {
    const Ranges &ranges = profile_.ranges();
    const Amount need = request.what.task(0);
    std::int64_t total = 0;
    for (std::size_t range = 0; range < ranges.count() && total < enough; ++range) {
        const Amount *left = free + range * static_cast<std::size_t>(input_.nodes.num_resources);
        // Most nodes of a busy system have nothing left.
        if (left[0] >= need)
            total += ranges.size[range] *
                     num_fitting_tasks(input_.nodes, left, ranges.first[range], request.what, most);
    }
    return total;
}

void Candidates::look_anew(std::size_t first) {
    ++look_;
    if (input_.settings.only_starts && counts_.limits_users())
        bar_by_user(first);
}

/// Note which jobs may be too many of their user: those of users with more than a pass considers.
void Candidates::find_limited() {
    limited_.clear();
    if (!input_.settings.only_starts || !counts_.limits_users())
        return;
    const auto user_of = [this](std::size_t place) { return input_.records[jobs_[place]].user; };
    ahead_.assign(ahead_.size(), 0);
    for (std::size_t place = 0; place < jobs_.size(); ++place)
        if (user_of(place) >= 0)
            ++ahead_of(user_of(place));
    for (std::size_t place = 0; place < jobs_.size(); ++place)
        if (user_of(place) >= 0 && ahead_of(user_of(place)) > input_.settings.of_user)
            limited_.push_back(place);
}

std::int64_t &Candidates::ahead_of(std::int64_t user) {
    const auto at = static_cast<std::size_t>(user);
    if (at >= ahead_.size())
        ahead_.resize(at + 1, 0);
    return ahead_[at];
}

/// Note before which jobs the pass considers too many of their user; these cannot start.
///
/// It does unless another job starts before: that may put one over a limit, and then it does not
/// count. Tasks of arrays are not counted, as they may be passed over with one that does not fit.
void Candidates::bar_by_user(std::size_t first) {
    ahead_ = counts_.users();
    for (const std::size_t place : limited_) {
        if (place < first)
            continue;
        const Record &record = input_.records[jobs_[place]];
        std::int64_t &ahead = ahead_of(record.user);
        is_barred_[place] = ahead >= input_.settings.of_user;
        const bool counts = is_barred_[place] == 0 && !record.has_others && record.array < 0 &&
                            record.begins <= input_.now.now && exceeded(place) < 0;
        if (counts)
            ++ahead;
    }
}

std::size_t Candidates::end_of_startable(std::size_t first, std::size_t end) {
    for (; end > first; --end) {
        const std::size_t place = end - 1;
        if (fits_[place] == 0 || is_barred_[place] != 0 || exceeded(place) >= 0)
            continue;
        fits_[place] = may_start_now(jobs_[place]);
        if (fits_[place] != 0)
            break;
    }
    return end;
}

bool Candidates::may_start_now(std::size_t number) {
    Request request = input_.request_of(number);
    request.duration += input_.settings.gap;
    Known &known = known_[static_cast<std::size_t>(request.request_id)];
    TooMuch &too_much = request.nodes_max == 1 ? known.of_one : known.of_many;
    if (request.tasks >= too_much.tasks && request.duration >= too_much.duration)
        return false;
    if (counts_.is_used_up(input_.records[number]))
        return false;
    const std::vector<Time> &times = profile_.times();
    const auto end = std::lower_bound(times.begin() + 1, times.end(), times[0] + request.duration);
    profile_.least_in(0, static_cast<std::size_t>(end - times.begin()), least_);
    if (input_.settings.only_starts) {
        fitting_.resize(profile_.ranges().count());
        const std::int64_t fitting =
            shortage(input_.nodes, least_.data(), profile_.ranges(), request, fitting_);
        if (fitting == kFits || fitting == kFar)
            return fitting == kFits;
    } else if (num_fitting(least_.data(), request, request.tasks, request.tasks) >= request.tasks) {
        return true;
    }
    too_much = {request.tasks, request.duration};
    return false;
}

} // namespace cpsched::slurm
