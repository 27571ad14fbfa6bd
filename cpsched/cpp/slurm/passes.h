// Slurm's passes over the queue, one after the other: the main scheduler, then backfill.
//
// Both go by ranges of nodes that are alike. Backfill looks at the first jobs that the main pass
// has not started, on free capacity over time: what running jobs give back as they end, less what
// has started. Slurm takes ends that are close together as one where it looks for a job's start: it
// takes away the jobs that end within some seconds of the first, tries, and goes on with the next
// ones and more seconds (bf_window_linear).
//
// Cost: O(N R) for N nodes and R resources to find the ranges; then that of the passes.
#pragma once

#include "backfill.h"
#include "main.h"

namespace cpsched::slurm {

/// The nodes of a system, as Slurm chooses them; every array belongs to somebody else.
struct SlurmNodes {
    /// kLowestSwitch, or kContiguous where the nodes are a line.
    Allocator allocator;
    /// Without weights, request classes and masks.
    Nodes nodes;
    /// Of each node: jobs get nodes of a lower weight first. nullptr: all are equal.
    const std::int64_t *weights;
};

class SlurmPasses {
  public:
    /// All must outlive this. `num_partitions` are told apart in limits of a pass.
    SlurmPasses(const PassSettings &settings, const SlurmNodes &nodes, const NodeMasks &partitions,
                std::int64_t num_partitions, const Reservations &reservations, Records &records,
                Limits &limits);
    SlurmPasses(const SlurmPasses &) = delete;
    SlurmPasses &operator=(const SlurmPasses &) = delete;
    SlurmPasses(SlurmPasses &&) = delete;
    SlurmPasses &operator=(SlurmPasses &&) = delete;
    ~SlurmPasses() = default;

    /// Take over request classes and their masks of eligible nodes, shape (C, N).
    void look_at(const RequestTable &requests, const std::uint8_t *eligible);
    /// Note that the masks are others than before: there are `num_masks` now.
    void masks_changed(std::int64_t num_masks);

    /// Run the passes that are due: a main pass that considers `depth` jobs (0: none), and
    /// backfill.
    ///
    /// `free` is what each node has left, shape (N, R). Starts count in limits.
    void run(const Queue &queue, std::int64_t depth, bool backfills, const Snapshot &now,
             const Amount *free);
    /// Note that no pass is due.
    void clear();

    const Starts &starts() const { return starts_; }
    const SlurmMain &main() const { return main_; }
    const SlurmBackfill &backfill() const { return backfill_; }
    const RequestTable &requests() const { return nodes_.requests; }
    const Nodes &nodes() const { return nodes_; }

  private:
    void find_ranges(bool by_allocations);
    void begin_profile() { profile_.begin_on_ranges(input_.now.now, input_.free, begins_); }
    std::vector<std::size_t> not_started(const Queue &queue) const;
    std::vector<Time> ends_of_running() const;
    /// Add what running jobs give back as they end.
    void follow_ends();
    /// Place what the main pass has started in the same steps: until it ends, or for good.
    void follow_main(bool until_ends);

    Nodes nodes_;
    Nodes weighted_nodes_;
    PassInput input_;
    Placer first_fit_;
    NodeChoice choice_;
    Availability profile_;
    SlurmMain main_;
    SlurmBackfill backfill_;
    Starts starts_;
    RangeStarts apart_;  // nodes that differ whatever is free
    RangeStarts begins_; // those of the present passes
    Pieces pieces_;
};

} // namespace cpsched::slurm
