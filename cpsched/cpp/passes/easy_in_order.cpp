#include "easy_in_order.h"

#include <algorithm>

namespace cpsched {

void EasyInOrder::run(Span<const Row> queue) {
    if (queue.empty())
        return;
    const bool is_known = is_quiet_ && context_.now.jobs[head_].state == kWaiting;
    if (!is_known || !try_new(queue))
        try_all(queue);
    tried_until_ = queue.back() + 1;
    // A start changes which nodes are busy, and with them what the reservation uses.
    if (is_reserved_ && context_.starts.starts.size() > num_heads_)
        is_quiet_ = false;
}

void EasyInOrder::freed(std::int64_t num_nodes, const Amount *amount, Time expected_end) {
    is_quiet_ = false;
    if (bound_.head < 0 || expected_end < bound_.time)
        return;
    for (std::size_t r = 0; r < bound_.left.size(); ++r) {
        bound_.before[r] += num_nodes * amount[r];
        if (expected_end > bound_.time)
            bound_.left[r] += num_nodes * amount[r];
    }
}

bool EasyInOrder::try_new(Span<const Row> queue) {
    const Row from = tried_until_;
    const Row *first = std::lower_bound(queue.begin(), queue.end(), from);
    const bool may_start = std::any_of(first, queue.end(), [this](Row row) {
        return context_.now.jobs[row].state == kWaiting &&
               context_.free.may_fit(context_.request_of(row));
    });
    if (!may_start)
        return true;
    if (!is_reserved_)
        return false;
    num_heads_ = 0;
    waiting_.add(context_.now.jobs, queue);
    waiting_.may_start(context_.now.jobs, context_.free, from, sizes_);
    backfill(from);
    return true;
}

void EasyInOrder::try_all(Span<const Row> queue) {
    const std::int64_t pass = context_.free.pass();
    const auto refused_in = [this](Row row) -> std::int64_t & {
        return context_.classes[context_.classes.class_of(context_.now.jobs, row)].refused_in;
    };
    bool has_hopeless = false;
    is_quiet_ = is_reserved_ = false;
    for (const Row row : queue) {
        if (context_.now.jobs[row].state != kWaiting)
            continue;
        if (has_hopeless && refused_in(row) == pass)
            continue;
        if (start_now(context_, row))
            continue;
        head_ = row;
        waiting_.add(context_.now.jobs, queue);
        waiting_.may_start(context_.now.jobs, context_.free, row + 1, sizes_);
        is_quiet_ = !may_backfill(row);
        if (is_quiet_)
            return;
        if (reserve(row)) {
            is_quiet_ = is_reserved_ = true;
            num_heads_ = context_.starts.starts.size();
            backfill(row + 1);
            return;
        }
        refused_in(row) = pass;
        has_hopeless = true;
    }
}

// --- the reservation -----------------------------------------------------------------------------

bool EasyInOrder::may_backfill(Row head) {
    if (sizes_.empty() || bound_.head != head)
        return !sizes_.empty();
    const Job *jobs = context_.now.jobs;
    return std::any_of(sizes_.begin(), sizes_.end(), [&](std::size_t size) {
        if (waiting_.first_from(jobs, size, head + 1, bound_.time - context_.now.now) >= 0)
            return true;
        const Row row = waiting_.first_from(jobs, size, head + 1, kFar - 1);
        return context_.free.enough_in_all(span_of(bound_.left), context_.request_of(row));
    });
}

bool EasyInOrder::reserve(Row head) {
    const Request request = context_.request_of(head);
    // While too little is free in all just before that time, the head cannot start earlier.
    const bool is_known =
        bound_.head == head && !context_.free.enough_in_all(span_of(bound_.before), request);
    if (!is_known || !backfilling_.reserve_at(bound_.time, head, rule_)) {
        if (!backfilling_.reserve(head, rule_))
            return false;
        bound_.before = backfilling_.reservation().total_before();
    }
    note_bound(request);
    return true;
}

void EasyInOrder::note_bound(const Request &head) {
    const RequestClass &what = head.what;
    const Reservation &reservation = backfilling_.reservation();
    bound_.head = -1;
    if (what.is_even() || what.is_contiguous() || what.is_confined() || !context_.free.are_summed())
        return;
    bound_.head = head_;
    bound_.time = reservation.time();
    bound_.left = backfilling_.total_left();
    // A job alone on its nodes may take less on others.
    for (std::size_t r = 0; r < bound_.left.size(); ++r)
        bound_.left[r] += reservation.taken()[r] - head.tasks * what.task(static_cast<int>(r));
}

void EasyInOrder::lower_bounds(const std::vector<Amount> &total) {
    const std::vector<Amount> left = backfilling_.total_left();
    for (std::size_t r = 0; bound_.head >= 0 && r < total.size(); ++r) {
        bound_.left[r] -= total[r] - left[r];
        bound_.before[r] -= total[r] - left[r];
    }
}

// --- backfilling ---------------------------------------------------------------------------------

void EasyInOrder::backfill(Row from) {
    const std::vector<Amount> total = backfilling_.total_left();
    next_.clear();
    for (const std::size_t size : sizes_)
        push_next({from, size, true, true}, from);
    while (!next_.empty() && !context_.free.is_full()) {
        std::pop_heap(next_.begin(), next_.end());
        NextOfSize next = next_.back();
        next_.pop_back();
        const Request request = context_.request_of(next.row);
        if (!context_.free.may_fit(request))
            continue;
        const bool is_short = backfilling_.ends_in_time(request);
        const bool may_fit = is_short ? next.tries_short : backfilling_.extra().may_fit(request);
        if (!may_fit || !backfilling_.start(next.row, is_short)) {
            // No other job of this size does, either.
            bool &tries = is_short ? next.tries_short : next.tries_long;
            tries = false;
        }
        push_next(next, next.row + 1);
    }
    lower_bounds(total);
}

void EasyInOrder::push_next(NextOfSize next, Row from) {
    if (!next.tries_short && !next.tries_long)
        return;
    const Time in_time = backfilling_.reservation().time() - context_.now.now;
    next.row = waiting_.first_from(context_.now.jobs, next.size, from,
                                   next.tries_long ? kFar - 1 : in_time);
    if (next.row < 0)
        return;
    next_.push_back(next);
    std::push_heap(next_.begin(), next_.end());
}

} // namespace cpsched
