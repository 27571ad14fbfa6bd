// Slurm's main scheduler: jobs in order of priority, until one of their partition does not fit.
//
// After Slurm's page "Scheduling Configuration Guide", sched/builtin. Each job that fits now
// starts. One that does not blocks the nodes of its partition (or its reservation) for those behind
// it, if its priority and age let it hold up others. What holds for a task of an array holds for
// the later ones. A pass looks at default_queue_depth jobs, partition_job_depth of each partition,
// and starts sched_max_job_start.
//
// Cost: O(G) for each job tried, with G ranges of nodes.
#pragma once

#include "../availability.h"
#include "node_choice.h"
#include "pass_input.h"
#include "queue.h"

namespace cpsched::slurm {

class SlurmMain {
  public:
    /// All must outlive this; `profile` is what is free now, on ranges of nodes.
    SlurmMain(PassInput &input, Availability &profile, NodeChoice &choice);

    /// Start jobs, of which so many are considered at most; notes their nodes in `starts`.
    void run(const Queue &queue, std::int64_t depth, Starts &starts);

    /// What the last pass has started.
    const std::vector<Started> &started() const { return started_; }
    void clear() { started_.clear(); }

  private:
    bool is_over(std::int64_t depth) const;
    /// Say whether the pass tries a job, of its array and its partition; count it if it does.
    bool takes_up(const Record &record);
    bool waits_for_others(const Record &record) const;
    /// Whether a partition has so many nodes that no earlier job waits for.
    bool has_nodes(std::int64_t partition, std::int64_t least);
    std::int64_t count_nodes(std::int64_t partition) const;
    /// Start a job if it fits.
    bool start(std::size_t record, Starts &starts);
    /// Return what is free now but for nodes that others have reserved by a second.
    const Amount *free_until(const Record &record, Time until);
    /// Let those behind a job that does not fit wait, too, for what it waits for.
    void wait_for(const Record &record);

    PassInput &input_;
    Availability &profile_;
    NodeChoice &choice_;
    std::vector<Started> started_;
    std::int64_t num_tried_ = 0;
    // Array and partition of the last task of an array.
    std::int64_t last_array_ = -1;
    std::int64_t last_partition_ = -1;
    // Of partitions, the first of which is none: how many jobs were tried, whether one waits.
    std::vector<std::int64_t> tried_;
    std::vector<bool> is_blocked_;
    bool some_blocked_ = false;
    // Of partitions, too: the nodes that no earlier job waits for, -1 where not counted yet.
    std::vector<std::int64_t> nodes_left_;
    std::vector<bool> is_full_; // of reservations: whether a job waits for it
    std::vector<Amount> unreserved_;
    std::vector<std::int64_t> fitting_;
    Pieces pieces_;
    Placement placement_;
};

} // namespace cpsched::slurm
