// Native dispatchers: a pass over the queue of a cluster whose state they follow.
#pragma once

#include "pass_state.h"
#include "passes/easy_in_order.h"
#include "passes/list.h"
#include "simulation.h"

namespace cpsched {

/// What all of them do: follow the state of a cluster.
class PassDispatcher : public NativeDispatcher {
  public:
    PassDispatcher(Allocator allocator, std::vector<Amount> capacity, int num_resources,
                   std::vector<std::int64_t> levels)
        : state_(allocator, std::move(capacity), num_resources, std::move(levels)) {}

    void look_at(Cluster &cluster) override;
    void tables_changed(Cluster &cluster) override;
    void queue_changed(Cluster &cluster) override;
    void freed(const Cluster &cluster, Row row, const AllocationRanges &nodes) override;

  protected:
    /// Point the passes to a cluster and begin one.
    PassContext &begin(Cluster &cluster, Time now);

    PassState state_;
};

/// First come, first served.
class FifoDispatcher : public PassDispatcher {
  public:
    using PassDispatcher::PassDispatcher;
    const Starts &decide(Cluster &cluster, Time now) override;
};

/// EASY backfilling in order of submission; or one reservation of conservative backfilling.
class EasyDispatcher : public PassDispatcher {
  public:
    EasyDispatcher(Allocator allocator, std::vector<Amount> capacity, int num_resources,
                   std::vector<std::int64_t> levels, EasyRule rule)
        : PassDispatcher(allocator, std::move(capacity), num_resources, std::move(levels)),
          pass_(state_.context, rule) {}
    void look_at(Cluster &cluster) override;
    void tables_changed(Cluster &cluster) override;
    void queue_changed(Cluster &cluster) override;
    void freed(const Cluster &cluster, Row row, const AllocationRanges &nodes) override;
    const Starts &decide(Cluster &cluster, Time now) override;

  private:
    EasyInOrder pass_;
    std::int64_t corrections_ = 0; // of expected ends, seen so far
};

/// In order of priority, every job that fits (Remediani 2017, algorithm 1).
class GreedyDispatcher : public PassDispatcher {
  public:
    /// `largest_wait` is the largest expected wait of the system, or 0 for the order by slowdown;
    /// `demand`, by row, breaks ties (eq. 4.2).
    GreedyDispatcher(Allocator allocator, std::vector<Amount> capacity, int num_resources,
                     std::vector<std::int64_t> levels, Time largest_wait, const double *demand)
        : PassDispatcher(allocator, std::move(capacity), num_resources, std::move(levels)),
          largest_wait_(largest_wait), demand_(demand) {}
    const Starts &decide(Cluster &cluster, Time now) override;

  private:
    /// Smaller goes first: minus the priority of eq. 4.1 or 4.3.
    double key(const Job &job, Time now) const;

    Time largest_wait_;
    const double *demand_;
    std::vector<Row> rows_;
    std::vector<Row> ranked_;
    std::vector<double> keys_;
    std::vector<std::size_t> order_;
};

} // namespace cpsched
