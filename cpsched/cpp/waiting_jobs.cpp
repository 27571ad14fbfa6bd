#include "waiting_jobs.h"

#include <algorithm>

namespace cpsched {

void WaitingJobs::clear() {
    sizes_.clear();
    size_at_.clear();
    active_.clear();
    added_until_ = 0;
}

// --- jobs come and go ----------------------------------------------------------------------------

void WaitingJobs::add(const Job *jobs, Span<const Row> queue) {
    const Row *first = std::lower_bound(queue.begin(), queue.end(), added_until_);
    for (const Row *row = first; row != queue.end(); ++row) {
        const Job &job = jobs[*row];
        added_until_ = *row + 1;
        if (job.state != kWaiting)
            continue;
        const std::size_t number = size_of(job);
        Size &size = sizes_[number];
        append(size, *row, std::max<Time>(job.runtime_estimate, 1));
        if (size.is_active)
            continue;
        size.is_active = true;
        const auto is_before = [this](std::size_t a, std::size_t b) {
            const Size &one = sizes_[a];
            const Size &other = sizes_[b];
            return one.request_id != other.request_id ? one.request_id < other.request_id
                                                      : one.tasks < other.tasks;
        };
        active_.insert(std::upper_bound(active_.begin(), active_.end(), number, is_before), number);
    }
}

std::size_t WaitingJobs::size_of(const Job &job) {
    const std::array<std::int64_t, 4> key{job.request_id, job.tasks, job.nodes_min, job.nodes_max};
    const auto [place, is_new] = size_at_.emplace(key, sizes_.size());
    if (is_new) {
        Size &size = sizes_.emplace_back();
        size.request_id = job.request_id;
        size.tasks = job.tasks;
        size.nodes_min = job.nodes_min;
        size.nodes_max = job.nodes_max;
    }
    return place->second;
}

void WaitingJobs::append(Size &size, Row row, Time duration) const {
    if (size.rows.size() % kBlock == 0) {
        if (size.least.size() % kBlock == 0)
            size.least_of_blocks.push_back(kFar);
        size.least.push_back(kFar);
    }
    size.rows.push_back(row);
    size.durations.push_back(duration);
    size.least.back() = std::min(size.least.back(), duration);
    size.least_of_blocks.back() = std::min(size.least_of_blocks.back(), duration);
}

void WaitingJobs::take_out(Size &size, std::size_t at) const {
    size.durations[at] = kFar;
    const auto least = [](const std::vector<Time> &values, std::size_t block) {
        const std::size_t end = std::min((block + 1) * kBlock, values.size());
        return *std::min_element(values.begin() + static_cast<std::ptrdiff_t>(block * kBlock),
                                 values.begin() + static_cast<std::ptrdiff_t>(end));
    };
    const std::size_t block = at / kBlock;
    size.least[block] = least(size.durations, block);
    size.least_of_blocks[block / kBlock] = least(size.least, block / kBlock);
}

bool WaitingJobs::has_jobs(const Job *jobs, Size &size) const {
    while (size.front < size.rows.size() && jobs[size.rows[size.front]].state != kWaiting)
        size.durations[size.front++] = kFar;
    if (size.front < size.rows.size())
        return true;
    size.rows.clear();
    size.durations.clear();
    size.least.clear();
    size.least_of_blocks.clear();
    size.front = 0;
    return false;
}

// --- asking --------------------------------------------------------------------------------------

void WaitingJobs::may_start(const Job *jobs, FreeNodes &free, Row from,
                            std::vector<std::size_t> &sizes) {
    sizes.clear();
    if (free.is_full())
        return;
    const RequestTable &requests = free.nodes().requests;
    std::int64_t short_of = -1; // a request of which no larger size fits
    std::size_t end = 0;
    for (const std::size_t number : active_) {
        Size &size = sizes_[number];
        active_[end] = number;
        if (size.request_id == short_of) {
            ++end;
            continue;
        }
        size.is_active = has_jobs(jobs, size);
        if (!size.is_active)
            continue;
        ++end;
        const Request request{requests[size.request_id],
                              size.request_id,
                              size.tasks,
                              1,
                              size.nodes_min,
                              size.nodes_max};
        if (!free.holds_tasks(request))
            short_of = size.request_id;
        else if (free.within_counts(request, free.counts(size.request_id)) &&
                 first_from(jobs, number, from, kFar - 1) >= 0)
            sizes.push_back(number);
    }
    active_.resize(end);
}

Row WaitingJobs::first_from(const Job *jobs, std::size_t number, Row from, Time most) {
    Size &size = sizes_[number];
    const auto front = size.rows.begin() + static_cast<std::ptrdiff_t>(size.front);
    auto at = static_cast<std::size_t>(std::lower_bound(front, size.rows.end(), from) -
                                       size.rows.begin());
    while (true) {
        at = first_place(size, at, most);
        if (at == size.rows.size())
            return -1;
        if (jobs[size.rows[at]].state == kWaiting)
            return size.rows[at];
        take_out(size, at);
    }
}

std::size_t WaitingJobs::first_place(const Size &size, std::size_t from, Time most) const {
    const std::size_t end = size.rows.size();
    std::size_t at = from;
    while (at < end) {
        const std::size_t block = at / kBlock;
        if (at % (kBlock * kBlock) == 0 && size.least_of_blocks[block / kBlock] > most)
            at += kBlock * kBlock;
        else if (at % kBlock == 0 && size.least[block] > most)
            at += kBlock;
        else if (size.durations[at] > most)
            ++at;
        else
            return at;
    }
    return end;
}

} // namespace cpsched
