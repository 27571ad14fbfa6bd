// What Slurm's passes know of a job in one of its partitions.
#pragma once

#include "../request.h"

namespace cpsched::slurm {

/// The weighted factors of a priority that never change, in Slurm's order of their sum.
struct FixedFactors {
    double association;
    double job_size;
    double partition;
    double qos;
    double rest; // of TRES, less nice
};

/// A job in one of its partitions: jobs that name several have a record for each.
struct Record {
    // First what passes look at of every job in the queue.
    Row row = -1;
    std::int64_t partition = -1; // -1: none
    std::int64_t array = -1;
    /// The reservation that the job runs in; -1: none.
    std::int64_t reservation = -1;
    /// The second before which the job does not start.
    Time begins = -kFar;
    std::int64_t request_id = 0; // as of SlurmRequests
    std::int64_t limit_set = 0;
    bool has_others = false; // whether the job is in other partitions, too
    std::int64_t user = -1;
    std::int64_t association = -1;
    std::int64_t qos = -1;
    /// The second by which the job must have ended: that of its reservation.
    Time until = kFar;
    /// From when on its age counts, and from when on it may hold up others.
    Time since = 0;
    Time reserves_from = -kFar;
    std::int64_t nice = 0;
    std::int64_t priority = -1;
    /// What goes before priority: QOS that may not be preempted, reservations, tiers.
    std::int64_t standing = 0;
    /// By what the queue is sorted, ascending: standing and priority.
    std::int64_t key = 0;
    /// For when the last backfill pass planned it; -1: not at all.
    Time planned = -1;
    FixedFactors factors = {};
    /// What a second of it costs, with the usage factor of its QOS.
    double billing = 0;

    /// Whether it may hold up others while it waits for nodes.
    bool holds_up(Time now, std::int64_t least_priority) const {
        return priority >= least_priority && reserves_from <= now;
    }
};

/// What a job asks for in a partition; predictions count as a second at least.
inline Request request_of(const Record &record, const Job &job, const RequestTable &requests) {
    return {requests[record.request_id],
            record.request_id,
            job.tasks,
            std::max<Time>(job.runtime_estimate, 1),
            job.nodes_min,
            job.nodes_max};
}

} // namespace cpsched::slurm
