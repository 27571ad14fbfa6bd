#include "pool_run.h"

#include <algorithm>

namespace cpsched {

void PoolRun::begin(Row first, Row end) {
    first_ = arrived_ = first;
    end_ = end;
    now_ = 0;
    free_ = jobs_.total();
    waiting_.clear();
    running_.clear();
    ends_.clear();
    starts_.assign(static_cast<std::size_t>(end - first), -1);
}

Time PoolRun::next_time() const {
    const Time next_end = ends_.empty() ? kFar : ends_.front().time;
    return arrived_ < end_ ? std::min(next_end, jobs_.submit(arrived_)) : next_end;
}

void PoolRun::advance(Time second) {
    now_ = second;
    while (!ends_.empty() && ends_.front().time == now_) {
        std::pop_heap(ends_.begin(), ends_.end(), is_later);
        const Row row = ends_.back().row;
        ends_.pop_back();
        end(row);
    }
    for (; arrived_ < end_ && jobs_.submit(arrived_) == now_; ++arrived_)
        waiting_.push_back(arrived_);
    correct_overdue();
}

void PoolRun::start(Row row) {
    const Amount *demand = jobs_.demand(row);
    for (std::size_t r = 0; r < free_.size(); ++r)
        free_[r] -= demand[r];
    waiting_.erase(std::lower_bound(waiting_.begin(), waiting_.end(), row));
    starts_[static_cast<std::size_t>(row - first_)] = now_;
    ends_.push_back({now_ + jobs_.runtime(row), row});
    std::push_heap(ends_.begin(), ends_.end(), is_later);
    enter_running({now_ + jobs_.duration(row), row, now_});
}

void PoolRun::end(Row row) {
    const Amount *demand = jobs_.demand(row);
    for (std::size_t r = 0; r < free_.size(); ++r)
        free_[r] += demand[r];
    running_.erase(std::find_if(running_.begin(), running_.end(),
                                [row](const Running &job) { return job.row == row; }));
}

void PoolRun::enter_running(const Running &job) {
    running_.insert(std::upper_bound(running_.begin(), running_.end(), job), job);
}

void PoolRun::correct_overdue() {
    while (!running_.empty() && running_.front().expected_end <= now_) {
        Running job = running_.front();
        running_.erase(running_.begin());
        job.expected_end = std::max(job.start + jobs_.requested_time(job.row), now_ + 1);
        enter_running(job);
    }
}

void PoolRun::fill(PooledAvailability &availability) const {
    availability.begin(now_, free());
    for (const Running &job : running_)
        // One that should have ended ends next second.
        availability.give_back(std::max(job.expected_end, now_ + 1), jobs_.demand(job.row));
}

} // namespace cpsched
