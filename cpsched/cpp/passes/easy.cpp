#include "easy.h"

namespace cpsched {

EasyPass::EasyPass(PassContext &context)
    : context_(context), reservation_(context), extra_(context) {}

void EasyPass::run(Span<const Row> queue, Span<const Row> backfill_order, EasyRule rule) {
    rule_ = rule;
    if (start_heads(queue, false) && queue.size() > 1)
        backfill(backfill_order, false);
}

void EasyPass::run_linked(Span<const Row> queue, EasyRule rule) {
    rule_ = rule;
    if (!start_heads(queue, true) || queue.size() < 2)
        return;
    context_.classes.may_start(context_.now.jobs, context_.free, 1, tried_);
    backfill(span_of(tried_), true);
}

bool EasyPass::start_heads(Span<const Row> queue, bool are_linked) {
    bool has_hopeless = false;
    for (const Row row : queue) {
        if (are_linked && context_.now.jobs[row].state != kWaiting)
            continue;
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

bool EasyPass::reserve(Row row) {
    const Request request = context_.request_of(row);
    if (!reservation_.find(request, rule_ == EasyRule::kEasy))
        return false;
    context_.starts.head = row;
    context_.starts.reserved_at = reservation_.time();
    context_.starts.reserved = reservation_.hold(request.what);
    return true;
}

void EasyPass::backfill(Span<const Row> rows, bool are_linked) {
    const Availability &availability = reservation_.availability();
    extra_.begin_pass();
    extra_.follow(availability.ranges(), reservation_.now(), reservation_.then());
    std::size_t from = 0;
    while (true) {
        const Candidate next = next_candidate(rows, from);
        if (next.place == rows.size())
            return;
        const Row row = rows[next.place];
        from = next.place + 1;
        if (!start_behind(row, next.is_short))
            class_of(row).refused_in = pass();
        else if (are_linked)
            from = context_.classes.replace_by_next(context_.now.jobs, pass(), next.place, tried_);
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
    extra_.follow(ranges, reservation_.now(), reservation_.then());
    return true;
}

} // namespace cpsched
