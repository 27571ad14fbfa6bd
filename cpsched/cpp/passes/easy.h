// EASY backfilling: start heads of the queue, reserve for the first that does not fit, backfill.
//
// Lifka 1995 ("The ANL/IBM SP scheduling system"); Mu'alem and Feitelson 2001 ("Utilization,
// predictability, workloads, and user runtime estimates in scheduling the IBM SP2 with
// backfilling", section 2), on nodes instead of a processor count. The reservation is the first
// second at which the head can be placed, with that placement. A later job may start if it ends by
// then, or on what the reservation leaves free. A job that could not be placed even if all that
// runs had ended (nodes are down) is skipped as if it were not in the queue.
//
// Cost: classes of waiting jobs are tried, not jobs (job_classes.h).
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

class EasyPass {
  public:
    explicit EasyPass(PassContext &context);

    /// Run over a queue, with `backfill` the same rows in the order in which they are backfilled.
    /// The caller has begun a pass (`FreeNodes::begin_pass`).
    void run(Span<const Row> queue, Span<const Row> backfill, EasyRule rule);
    /// The same of a queue in the order of rows that is all that waits, linked by class. It may
    /// have entries of jobs that do not wait any more.
    void run_linked(Span<const Row> queue, EasyRule rule);

  private:
    /// The next job to try, and whether it ends by the second of the reservation.
    struct Candidate {
        std::size_t place; // in the rows that are tried; their number for none
        bool is_short;
    };

    /// Start jobs until one does not fit, and reserve for it; says whether one does not.
    bool start_heads(Span<const Row> queue, bool are_linked);
    bool reserve(Row row);
    /// Start jobs that do not delay the reservation; `are_linked` ones are followed by the next of
    /// their class.
    void backfill(Span<const Row> rows, bool are_linked);
    Candidate next_candidate(Span<const Row> rows, std::size_t from);
    bool start_behind(Row row, bool is_short);

    JobClass &class_of(Row row) {
        return context_.classes[context_.classes.class_of(context_.now.jobs, row)];
    }
    std::int64_t pass() const { return context_.free.pass(); }

    PassContext &context_;
    EasyRule rule_ = EasyRule::kEasy;
    Reservation reservation_;
    ExtraNodes extra_;
    std::vector<Row> tried_; // linked jobs that may be backfilled
    Pieces pieces_;
    Placement placement_;
};

} // namespace cpsched
