// What Slurm's passes over the queue work on, and what they have started.
#pragma once

#include "../pass.h"
#include "limits.h"
#include "node_masks.h"
#include "records.h"
#include "settings.h"

namespace cpsched::slurm {

/// Everything that passes look at; records and limits are written to.
struct PassInput {
    const PassSettings &settings;
    const Nodes &nodes;
    /// The nodes of each partition; none where jobs that wait for a partition do not block its
    /// nodes.
    const NodeMasks &partitions;
    const Reservations &reservations;
    Records &records;
    Limits &limits;
    Snapshot now;
    /// What each node has left, shape (N, R).
    const Amount *free = nullptr;

    const Job &job_of(std::size_t record) const { return now.jobs[records[record].row]; }
    Request request_of(std::size_t record) const {
        return slurm::request_of(records[record], job_of(record), nodes.requests);
    }
    /// Return the limit that keeps a job from starting, -1 if none does.
    std::int64_t exceeded(std::size_t record) const {
        return limits.exceeded(records[record].limit_set, records.amounts(record));
    }
    /// Whether a limit that a job is over may stop those behind it.
    bool stops(std::int64_t counter) const {
        return settings.limits_stop && limits.counter(counter).stops;
    }
    void count(std::size_t record, std::int64_t sign) {
        limits.count(records[record].limit_set, records.amounts(record), sign);
    }
};

/// A job that a pass has started, and where, by the ranges that the pass has begun with.
struct Started {
    std::size_t record;
    Pieces pieces;
};

/// Say whether a job has started in another of its partitions.
inline bool has_started_elsewhere(const PassInput &input, const std::vector<Started> &started,
                                  const Record &record) {
    return record.has_others &&
           std::any_of(started.begin(), started.end(), [&](const Started &one) {
               return input.records[one.record].row == record.row;
           });
}

} // namespace cpsched::slurm
