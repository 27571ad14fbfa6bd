// EASY backfilling: start heads of the queue, reserve for the first that does not fit, backfill.
//
// Lifka 1995 ("The ANL/IBM SP scheduling system"); Mu'alem and Feitelson 2001 ("Utilization,
// predictability, workloads, and user runtime estimates in scheduling the IBM SP2 with
// backfilling", section 2), on nodes instead of a processor count. The reservation is the first
// second at which the head can be placed, with that placement. A later job may start if it ends by
// then, or on what the reservation leaves free. A job that could not be placed even if all that
// runs had ended (nodes are down) is skipped as if it were not in the queue.
//
// Cost: all jobs of the queue are looked at; of each class of equal jobs (job_classes.h), none is
// tried behind one that does not fit.
#pragma once

#include "backfilling.h"

namespace cpsched {

class EasyPass {
  public:
    explicit EasyPass(PassContext &context) : context_(context), backfilling_(context) {}

    /// Run over a queue, with `backfill` the same rows in the order in which they are backfilled.
    /// The caller has begun a pass (`FreeNodes::begin_pass`).
    void run(Span<const Row> queue, Span<const Row> backfill, EasyRule rule);

  private:
    /// The next job to try, and whether it ends by the second of the reservation.
    struct Candidate {
        std::size_t place; // in the rows that are tried; their number for none
        bool is_short;
    };

    /// Start jobs until one does not fit, and reserve for it; says whether one does not.
    bool start_heads(Span<const Row> queue, EasyRule rule);
    /// Start jobs that do not delay the reservation.
    void backfill(Span<const Row> rows);
    Candidate next_candidate(Span<const Row> rows, std::size_t from);

    JobClass &class_of(Row row) {
        return context_.classes[context_.classes.class_of(context_.now.jobs, row)];
    }
    std::int64_t pass() const { return context_.free.pass(); }

    PassContext &context_;
    Backfilling backfilling_;
};

} // namespace cpsched
