// Slurm's two schedulers without a policy: an order of jobs, queues, and nothing that limits them.
//
// As the co-allocation papers compare themselves with them: Soner's thesis, sections 6.1 and 7.1.
#pragma once

#include "passes.h"

namespace cpsched::slurm {

class PlainSlurm {
  public:
    PlainSlurm(const PassSettings &settings, const SlurmNodes &nodes);
    PlainSlurm(const PlainSlurm &) = delete;
    PlainSlurm &operator=(const PlainSlurm &) = delete;
    PlainSlurm(PlainSlurm &&) = delete;
    PlainSlurm &operator=(PlainSlurm &&) = delete;
    ~PlainSlurm() = default;

    /// Take over request classes and their masks of eligible nodes, shape (C, N).
    void look_at(const RequestTable &requests, const std::uint8_t *eligible,
                 std::int64_t num_masks) {
        passes_.look_at(requests, eligible);
        passes_.masks_changed(num_masks);
    }
    /// Start jobs in the order given until one of their queue does not fit, then backfill if that
    /// is due. A record is the place of its job in the order.
    void run(Span<const Row> rows, bool backfills, const Snapshot &now, const Amount *free);

    const Records &records() const { return records_; }
    const SlurmPasses &passes() const { return passes_; }

  private:
    PassSettings settings_;
    NodeMasks partitions_; // none: jobs that wait for a queue do not block its nodes
    Reservations reservations_;
    Records records_;
    Limits limits_;
    SlurmPasses passes_;
    Queue queue_;
};

} // namespace cpsched::slurm
