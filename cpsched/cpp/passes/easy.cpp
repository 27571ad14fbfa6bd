#include "easy.h"

#include <algorithm>

namespace cpsched {

EasyPass::EasyPass(PassContext &context)
    : context_(context), reservation_(context), extra_(context) {}

bool EasyPass::reserve(Row row) {
    const Request request = context_.request_of(row);
    const bool prefers_busy = rule_ == EasyRule::kEasy;
    // While too little is free in all just before that time, the head cannot start earlier.
    const bool is_known =
        bound_.head == row && !context_.free.enough_in_all(span_of(bound_.before), request);
    if (!is_known || !reservation_.find_at(bound_.time, request, prefers_busy)) {
        if (!reservation_.find(request, prefers_busy))
            return false;
        bound_.before = reservation_.total_before();
    }
    context_.starts.head = row;
    context_.starts.reserved_at = reservation_.time();
    context_.starts.reserved = reservation_.hold(request.what);
    note_bound(request);
    return true;
}

void EasyPass::begin_backfill() {
    extra_.begin_pass(reservation_.availability(), Reservation::kNow, Reservation::kThen);
}

bool EasyPass::start_behind(Row row, bool is_short) {
    Availability &availability = reservation_.availability();
    const Ranges &ranges = availability.ranges();
    const Request request = context_.request_of(row);
    bool fits = false;
    if (is_short) {
        const Amount *reserved =
            reservation_.excess(Reservation::kNow, Reservation::kThen, rule_ == EasyRule::kEasy);
        fits = context_.placer.place_preferring(reservation_.now(), reserved, ranges, request,
                                                pieces_);
    } else {
        fits = context_.placer.place(extra_.free(), ranges, request, pieces_);
    }
    if (!fits)
        return false;
    availability.split(pieces_);
    availability.take_off(Reservation::kNow, request.what, pieces_);
    if (!is_short)
        availability.take_off(Reservation::kThen, request.what, pieces_);
    spans_of(pieces_, ranges, placement_);
    context_.free.take(request.what, placement_);
    context_.starts.add(row, placement_);
    extra_.note_change();
    return true;
}

// --- in any order --------------------------------------------------------------------------------

void EasyPass::run(Span<const Row> queue, Span<const Row> backfill_order, EasyRule rule) {
    rule_ = rule;
    forget();
    if (start_heads(queue) && queue.size() > 1)
        backfill(backfill_order);
}

bool EasyPass::start_heads(Span<const Row> queue) {
    bool has_hopeless = false;
    for (const Row row : queue) {
        if (has_hopeless && class_of(row).refused_in == pass())
            continue;
        if (start_now(context_, row)) {
            context_.classes.settle(row, pass());
            continue;
        }
        if (reserve(row)) {
            context_.classes.settle(row, pass());
            return true;
        }
        class_of(row).refused_in = pass();
        has_hopeless = true;
    }
    return false;
}

void EasyPass::backfill(Span<const Row> rows) {
    begin_backfill();
    std::size_t from = 0;
    while (true) {
        const Candidate next = next_candidate(rows, from);
        if (next.place == rows.size())
            return;
        from = next.place + 1;
        if (!start_behind(rows[next.place], next.is_short))
            class_of(rows[next.place]).refused_in = pass();
    }
}

EasyPass::Candidate EasyPass::next_candidate(Span<const Row> rows, std::size_t from) {
    FreeNodes &free = context_.free;
    if (free.is_full())
        return {rows.size(), false};
    for (std::size_t place = from; place < rows.size(); ++place) {
        const Row row = rows[place];
        if (context_.classes.is_settled(row, pass()))
            continue;
        JobClass &job_class = class_of(row);
        if (job_class.refused_in == pass())
            continue;
        const Request request = context_.request_of(row);
        const bool is_short = context_.now.now + request.duration <= reservation_.time();
        // What is known already rules out most.
        const std::int64_t fitting = free.known_fitting(request.request_id);
        bool fits = fitting < 0 || fitting >= request.tasks;
        if (!is_short)
            fits = fits && !extra_.is_known_short(request.request_id, request.tasks);
        if (fits && free.may_fit(request) && (is_short || extra_.may_fit(request)))
            return {place, is_short};
        job_class.refused_in = pass();
    }
    return {rows.size(), false};
}

// --- in order of submission ----------------------------------------------------------------------

void EasyPass::run_in_order(Span<const Row> queue, WaitingJobs &waiting, EasyRule rule) {
    rule_ = rule;
    if (queue.empty())
        return;
    const bool is_known = is_quiet_ && context_.now.jobs[head_].state == kWaiting;
    if (!is_known || !try_new(queue, waiting))
        try_all(queue, waiting);
    tried_until_ = queue.back() + 1;
    // A start changes which nodes are busy, and with them what the reservation uses.
    if (is_reserved_ && context_.starts.starts.size() > num_heads_)
        is_quiet_ = false;
}

void EasyPass::freed(std::int64_t num_nodes, const Amount *amount, Time expected_end) {
    is_quiet_ = false;
    if (bound_.head < 0 || expected_end < bound_.time)
        return;
    for (std::size_t r = 0; r < bound_.left.size(); ++r) {
        bound_.before[r] += num_nodes * amount[r];
        if (expected_end > bound_.time)
            bound_.left[r] += num_nodes * amount[r];
    }
}

bool EasyPass::try_new(Span<const Row> queue, WaitingJobs &waiting) {
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
    waiting.add(context_.now.jobs, queue);
    waiting.may_start(context_.now.jobs, context_.free, from, sizes_);
    backfill_sizes(from, waiting);
    return true;
}

void EasyPass::try_all(Span<const Row> queue, WaitingJobs &waiting) {
    bool has_hopeless = false;
    is_quiet_ = is_reserved_ = false;
    for (const Row row : queue) {
        if (context_.now.jobs[row].state != kWaiting)
            continue;
        if (has_hopeless && class_of(row).refused_in == pass())
            continue;
        if (start_now(context_, row))
            continue;
        head_ = row;
        waiting.add(context_.now.jobs, queue);
        waiting.may_start(context_.now.jobs, context_.free, row + 1, sizes_);
        is_quiet_ = !may_backfill(row, waiting);
        if (is_quiet_)
            return;
        if (reserve(row)) {
            is_quiet_ = is_reserved_ = true;
            num_heads_ = context_.starts.starts.size();
            begin_backfill();
            backfill_sizes(row + 1, waiting);
            return;
        }
        class_of(row).refused_in = pass();
        has_hopeless = true;
    }
}

/// Say whether some job behind a head may start by what is known of the reservation.
bool EasyPass::may_backfill(Row head, WaitingJobs &waiting) {
    if (sizes_.empty() || bound_.head != head)
        return !sizes_.empty();
    const Job *jobs = context_.now.jobs;
    return std::any_of(sizes_.begin(), sizes_.end(), [&](std::size_t size) {
        if (waiting.first_from(jobs, size, head + 1, bound_.time - context_.now.now) >= 0)
            return true;
        const Row row = waiting.first_from(jobs, size, head + 1, kFar - 1);
        return context_.free.enough_in_all(span_of(bound_.left), context_.request_of(row));
    });
}

void EasyPass::backfill_sizes(Row from, WaitingJobs &waiting) {
    std::vector<Amount> total = values_of(reservation_.availability().total(Reservation::kThen));
    next_.clear();
    for (const std::size_t size : sizes_)
        push_next({from, size, true, true}, from, waiting);
    while (!next_.empty() && !context_.free.is_full()) {
        std::pop_heap(next_.begin(), next_.end());
        NextOfSize next = next_.back();
        next_.pop_back();
        const Request request = context_.request_of(next.row);
        if (!context_.free.may_fit(request))
            continue;
        const bool is_short = ends_in_time(request);
        const bool fits = (is_short ? next.tries_short : extra_.may_fit(request)) &&
                          start_behind(next.row, is_short);
        if (!fits && is_short)
            next.tries_short = false;
        if (!fits && !is_short)
            next.tries_long = false;
        push_next(next, next.row + 1, waiting);
    }
    lower_bound(std::move(total));
}

void EasyPass::note_bound(const Request &head) {
    const RequestClass &what = head.what;
    bound_.head = -1;
    if (what.is_even() || what.is_contiguous() || what.is_confined() || !context_.free.are_summed())
        return;
    bound_.head = context_.starts.head;
    bound_.time = reservation_.time();
    bound_.left = values_of(reservation_.availability().total(Reservation::kThen));
    // A job alone on its nodes may take less on others.
    for (std::size_t r = 0; r < bound_.left.size(); ++r)
        bound_.left[r] += reservation_.taken()[r] - head.tasks * what.task(static_cast<int>(r));
}

/// Take what was started beside the reservation off its bound; `total` is what was free in all when
/// it begins.
void EasyPass::lower_bound(std::vector<Amount> total) {
    const Span<const Amount> now = reservation_.availability().total(Reservation::kThen);
    for (std::size_t r = 0; bound_.head >= 0 && r < total.size(); ++r) {
        bound_.left[r] -= total[r] - now[r];
        bound_.before[r] -= total[r] - now[r];
    }
}

void EasyPass::push_next(NextOfSize next, Row from, WaitingJobs &waiting) {
    const Time in_time = reservation_.time() - context_.now.now;
    next.row = waiting.first_from(context_.now.jobs, next.size, from,
                                  next.tries_long ? kFar - 1 : in_time);
    if (next.row < 0 || (!next.tries_short && !next.tries_long))
        return;
    next_.push_back(next);
    std::push_heap(next_.begin(), next_.end());
}

} // namespace cpsched
