#include "backfilling.h"

namespace cpsched {

bool Backfilling::reserve(Row head, EasyRule rule) {
    const Request request = context_.request_of(head);
    prefers_busy_ = rule == EasyRule::kEasy;
    if (!reservation_.find(request, prefers_busy_))
        return false;
    note_reservation(head, request);
    return true;
}

bool Backfilling::reserve_at(Time second, Row head, EasyRule rule) {
    const Request request = context_.request_of(head);
    prefers_busy_ = rule == EasyRule::kEasy;
    if (!reservation_.find_at(second, request, prefers_busy_))
        return false;
    note_reservation(head, request);
    return true;
}

void Backfilling::note_reservation(Row head, const Request &request) {
    context_.starts.head = head;
    context_.starts.reserved_at = reservation_.time();
    context_.starts.reserved = reservation_.hold(request.what);
    extra_.begin_pass(reservation_.availability(), Reservation::kNow, Reservation::kThen);
}

bool Backfilling::start(Row row, bool is_short) {
    Availability &availability = reservation_.availability();
    const Ranges &ranges = availability.ranges();
    const Request request = context_.request_of(row);
    bool fits = false;
    if (is_short) {
        const Amount *reserved =
            reservation_.excess(Reservation::kNow, Reservation::kThen, prefers_busy_);
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

} // namespace cpsched
