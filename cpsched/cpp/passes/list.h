// Passes over a queue that start jobs in order where they fit now: fifo, greedy and the like.
//
// Cost: a job that does not fit costs the look at what is known of its request class; a start costs
// what its placement does. A pass ends where all that is free is too little for any job.
#pragma once

#include "../pass.h"

namespace cpsched {

class ListPass {
  public:
    explicit ListPass(PassContext &context) : context_(context) {}

    /// Start jobs in the order given, as long as they fit. Where one does not, the pass either
    /// stops or goes on with the next. The caller has begun a pass (`FreeNodes::begin_pass`).
    void run(Span<const Row> rows, bool stop);

    /// Fill `found` with the jobs worth ranking, those that could start now on their own, in order.
    ///
    /// May include jobs that do not fit, see `FreeNodes::may_fit`. With `by_age`, there are no more
    /// jobs of one class than fit together: the priority puts earlier ones first, so later ones
    /// cannot start.
    void candidates(Span<const Row> queue, bool by_age, std::vector<Row> &found);

    /// Say of each job whether as many of its tasks fit now; true of every job that could start now
    /// on its own.
    void fits_now(Span<const Row> rows, bool *fits);

  private:
    PassContext &context_;
};

} // namespace cpsched
