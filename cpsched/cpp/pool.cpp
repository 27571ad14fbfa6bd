#include "pool.h"

#include <algorithm>

namespace cpsched {

PooledAvailability::PooledAvailability(Time now, std::vector<Amount> free)
    : num_resources_(free.size()), times_{now}, levels_(std::move(free)) {}

PooledAvailability::PooledAvailability(Span<const Time> times, const Amount *levels,
                                       std::size_t num_resources)
    : num_resources_(num_resources), times_(times.begin(), times.end()),
      levels_(levels, levels + times.size() * num_resources) {}

void PooledAvailability::begin(Time now, const Amount *free) {
    times_.assign(1, now);
    levels_.assign(free, free + num_resources_);
}

void PooledAvailability::give_back(Time second, const Amount *amounts) {
    if (second > times_.back()) {
        times_.push_back(second);
        levels_.resize(levels_.size() + num_resources_);
        std::copy_n(levels_.end() - 2 * static_cast<std::ptrdiff_t>(num_resources_), num_resources_,
                    levels_.end() - static_cast<std::ptrdiff_t>(num_resources_));
    }
    Amount *last = levels_.data() + levels_.size() - num_resources_;
    for (std::size_t r = 0; r < num_resources_; ++r)
        last[r] += amounts[r];
}

std::size_t PooledAvailability::split_at(Time second, std::size_t from) {
    const auto begin = times_.begin() + static_cast<std::ptrdiff_t>(from);
    const auto place = std::lower_bound(begin, times_.end(), second);
    const std::size_t segment = place - times_.begin();
    if (segment == 0 || (place != times_.end() && *place == second))
        return segment;
    times_.insert(place, second);
    // A copy of the segment before it.
    const auto behind = levels_.begin() + static_cast<std::ptrdiff_t>(segment * num_resources_);
    const auto added = levels_.insert(behind, num_resources_, 0);
    std::copy(added - static_cast<std::ptrdiff_t>(num_resources_), added, added);
    return segment;
}

bool PooledAvailability::has(std::size_t segment, const Amount *need) const {
    for (std::size_t r = 0; r < num_resources_; ++r)
        if (level(segment)[r] < need[r])
            return false;
    return true;
}

std::size_t PooledAvailability::first_with(const Amount *need) const {
    std::size_t low = 0;
    std::size_t high = num_segments();
    while (low < high) {
        const std::size_t middle = (low + high) / 2;
        if (has(middle, need))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

bool PooledAvailability::find_window(std::size_t &segment, Time duration,
                                     const Amount *need) const {
    for (std::size_t last = segment; last < num_segments(); ++last) {
        if (!has(last, need))
            segment = last + 1;
        else if (last + 1 == num_segments() || time(last + 1) >= time(segment) + duration)
            return true;
    }
    return false;
}

void PooledAvailability::occupy(std::size_t segment, Time end, const Amount *need) {
    const std::size_t behind = split_at(end, segment);
    for (std::size_t at = segment * num_resources_; at < behind * num_resources_; ++at)
        levels_[at] -= need[at % num_resources_];
}

std::vector<Amount> given_back(const Snapshot &now, int num_resources) {
    const std::size_t width = num_resources;
    std::vector<Amount> back(now.running.size() * width, 0);
    Amount *released = back.data();
    for (const Row row : now.running) {
        const Job &job = now.jobs[row];
        const Amount *amount = now.allocated_amount + job.alloc_first * num_resources;
        for (std::int64_t k = 0; k < job.alloc_count; ++k)
            for (std::size_t r = 0; r < width; ++r)
                released[r] += now.allocated_nodes[job.alloc_first + k] * *amount++;
        released += width;
    }
    return back;
}

PooledAvailability pool_profile(const Snapshot &now, const Amount *back, std::vector<Amount> free) {
    PooledAvailability pool(now.now, std::move(free));
    for (const Row row : now.running) {
        // One that should have ended ends next second.
        pool.give_back(std::max(now.jobs[row].expected_end, now.now + 1), back);
        back += pool.num_resources();
    }
    return pool;
}

std::vector<Time> list_plan(PooledAvailability pool, const PooledJobs &jobs,
                            Span<const std::int64_t> order) {
    std::vector<Time> start(jobs.duration.size(), -1);
    for (const std::int64_t job : order) {
        const Amount *need = jobs.demand + job * pool.num_resources();
        std::size_t segment = pool.split_at(jobs.ready[job], 0);
        if (!pool.find_window(segment, jobs.duration[job], need))
            continue;
        start[job] = pool.time(segment);
        pool.occupy(segment, start[job] + jobs.duration[job], need);
    }
    return start;
}

} // namespace cpsched
