#include "candidates.h"

namespace cpsched::slurm {

void Candidates::begin(std::vector<std::size_t> jobs) {
    const Time now = input_.now.now;
    const auto num_requests = static_cast<std::size_t>(input_.nodes.requests.size());
    jobs_ = std::move(jobs);
    fits_.assign(jobs_.size(), 0);
    exceeded_.resize(jobs_.size());
    is_barred_.assign(jobs_.size(), 0);
    known_fitting_.assign(num_requests, -1);
    too_much_.assign(2 * num_requests, {});
    std::size_t end = 0;
    for (std::size_t place = 0; place < jobs_.size(); ++place) {
        const Record &record = input_.records[jobs_[place]];
        if (record.begins > now || input_.reservations.is_later(record.reservation, now))
            continue;
        const Request request = input_.request_of(jobs_[place]);
        std::int64_t &fitting = known_fitting_[static_cast<std::size_t>(record.request_id)];
        if (fitting < 0)
            fitting = num_fitting(profile_.level(profile_.row(0)), request, kMany, kFar);
        fits_[place] = fitting >= request.tasks && input_.exceeded(jobs_[place]) < 0;
        end = fits_[place] != 0 ? place + 1 : end;
    }
    jobs_.resize(end);
    for (const std::size_t number : jobs_)
        input_.records[number].planned = -1;
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
    for (std::size_t place = first; place < jobs_.size(); ++place)
        exceeded_[place] = input_.exceeded(jobs_[place]);
    if (input_.settings.only_starts && counts_.limits_users())
        bar_by_user(first);
}

/// Note before which jobs the pass considers too many of their user; these cannot start.
///
/// It does unless another job starts before: that may put one over a limit, and then it does not
/// count. Tasks of arrays are not counted, as they may be passed over with one that does not fit.
void Candidates::bar_by_user(std::size_t first) {
    ahead_ = counts_.users();
    for (std::size_t place = first; place < jobs_.size(); ++place) {
        const Record &record = input_.records[jobs_[place]];
        if (record.user < 0)
            continue;
        const auto user = static_cast<std::size_t>(record.user);
        if (user >= ahead_.size())
            ahead_.resize(user + 1, 0);
        is_barred_[place] = ahead_[user] >= input_.settings.of_user;
        const bool counts = is_barred_[place] == 0 && !record.has_others && record.array < 0 &&
                            record.begins <= input_.now.now && exceeded_[place] < 0;
        if (counts)
            ++ahead_[user];
    }
}

std::size_t Candidates::end_of_startable(std::size_t first, std::size_t end) {
    for (; end > first; --end) {
        const std::size_t place = end - 1;
        if (fits_[place] == 0 || is_barred_[place] != 0 || exceeded_[place] >= 0)
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
    const std::int64_t asked = 2 * request.request_id + (request.nodes_max == 1 ? 1 : 0);
    TooMuch &too_much = too_much_[static_cast<std::size_t>(asked)];
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
