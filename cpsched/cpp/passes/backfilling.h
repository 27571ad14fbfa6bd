// The reservation of the head of the queue, and starts of later jobs that do not delay it.
//
// A job that ends before the reservation begins may start on what is free now, others on what is
// free now and still then.
//
// Cost: that of Reservation, and for each start a look at all ranges of nodes.
#pragma once

#include "extra_nodes.h"
#include "reservation.h"

namespace cpsched {

/// How the queue behind the first job that does not fit is backfilled; the numbers are those of
/// cpsched/dispatch/backfilling.py.
enum class EasyRule : std::int64_t {
    /// The reservation uses busy capacity first, as backfilled jobs use reserved capacity first.
    kEasy = 0,
    /// Without such a preference, as with the first of several reservations.
    kPlain = 1,
};

class Backfilling {
  public:
    explicit Backfilling(PassContext &context)
        : context_(context), reservation_(context), extra_(context) {}

    /// Reserve nodes for a job from the first second on at which it fits; says whether there is
    /// one.
    bool reserve(Row head, EasyRule rule);
    /// Do the same where that second is known.
    bool reserve_at(Time second, Row head, EasyRule rule);
    /// Start a job on what is free, or else change nothing; says whether it fits. `is_short` says
    /// that it ends in time.
    bool start(Row row, bool is_short);

    /// Say whether a job ends before the reservation begins if it starts now.
    bool ends_in_time(const Request &request) const {
        return context_.now.now + request.duration <= reservation_.time();
    }
    const Reservation &reservation() const { return reservation_; }
    /// What is free in all for other jobs when the reservation begins.
    std::vector<Amount> total_left() const {
        return values_of(reservation_.availability().total(Reservation::kThen));
    }
    ExtraNodes &extra() { return extra_; }

  private:
    void note_reservation(Row head, const Request &request);

    PassContext &context_;
    bool prefers_busy_ = true;
    Reservation reservation_;
    ExtraNodes extra_;
    Pieces pieces_;
    Placement placement_;
};

} // namespace cpsched
