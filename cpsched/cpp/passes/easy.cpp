#include "easy.h"

namespace cpsched {

void EasyPass::run(Span<const Row> queue, Span<const Row> backfill_order, EasyRule rule) {
    if (start_heads(queue, rule) && queue.size() > 1)
        backfill(backfill_order);
}

bool EasyPass::start_heads(Span<const Row> queue, EasyRule rule) {
    bool has_hopeless = false;
    for (const Row row : queue) {
        if (has_hopeless && class_of(row).refused_in == pass())
            continue;
        if (start_now(context_, row)) {
            context_.classes.settle(row, pass());
            continue;
        }
        if (backfilling_.reserve(row, rule)) {
            context_.classes.settle(row, pass());
            return true;
        }
        class_of(row).refused_in = pass();
        has_hopeless = true;
    }
    return false;
}

void EasyPass::backfill(Span<const Row> rows) {
    std::size_t from = 0;
    while (true) {
        const Candidate next = next_candidate(rows, from);
        if (next.place == rows.size())
            return;
        from = next.place + 1;
        if (!backfilling_.start(rows[next.place], next.is_short))
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
        const bool is_short = backfilling_.ends_in_time(request);
        // What is known already rules out most.
        const std::int64_t fitting = free.known_fitting(request.request_id);
        bool fits = fitting < 0 || fitting >= request.tasks;
        if (!is_short)
            fits = fits && !backfilling_.extra().is_known_short(request.request_id, request.tasks);
        if (fits && free.may_fit(request) && (is_short || backfilling_.extra().may_fit(request)))
            return {place, is_short};
        job_class.refused_in = pass();
    }
    return {rows.size(), false};
}

} // namespace cpsched
