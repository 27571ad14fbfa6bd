// What the passes over the queue read, and what they answer.
#pragma once

#include "free_nodes.h"
#include "job.h"
#include "job_classes.h"
#include "nodes.h"
#include "placement.h"

namespace cpsched {

/// Jobs and allocations at one instant; every array belongs to somebody else.
struct Snapshot {
    Time now = 0;
    /// The job table, by row.
    const Job *jobs = nullptr;
    /// Rows of the running jobs by (expected end, row). One that should have ended ends next
    /// second.
    Span<const Row> running;
    /// Allocations of the running jobs, found by alloc_first and alloc_count of each: contiguous
    /// ranges of nodes, and what is taken of each node, shape (K, R).
    const std::int64_t *allocated_first = nullptr;
    const std::int64_t *allocated_nodes = nullptr;
    const Amount *allocated_amount = nullptr;
};

/// The jobs that a pass starts, and the reservation of the first one that it does not.
struct Starts {
    struct Start {
        Row row;
        std::size_t first; // of its spans
        std::size_t count;
    };
    std::vector<Start> starts;
    std::vector<NodeSpan> spans;
    /// The job with the reservation, -1 for none; when it starts, and where.
    Row head = -1;
    Time reserved_at = 0;
    Placement reserved;

    bool empty() const { return starts.empty(); }
    void clear() {
        starts.clear();
        spans.clear();
        reserved.clear();
        head = -1;
        reserved_at = 0;
    }
    void add(Row row, const Placement &placement) {
        starts.push_back({row, spans.size(), placement.size()});
        spans.insert(spans.end(), placement.begin(), placement.end());
    }
    Span<const NodeSpan> spans_of(const Start &start) const {
        return {spans.data() + start.first, start.count};
    }
};

/// What a pass works on. One object serves one allocator from decision to decision.
struct PassContext {
    const Nodes &nodes;
    FreeNodes &free;
    JobClasses &classes;
    Placer &placer;
    Snapshot now;
    Starts starts;
    /// What `start_now` works on, kept so that it allocates nothing.
    struct Scratch {
        Ranges ranges;
        std::vector<Amount> free;
        Pieces pieces;
        Placement placement;
        NodeCounts behind;
    };
    Scratch scratch = {};

    Request request_of(Row row) const { return cpsched::request_of(now.jobs[row], nodes.requests); }
};

/// Start a job on what is free now; notes the start and takes its nodes. Says whether it fits.
bool start_now(PassContext &context, Row row);

} // namespace cpsched
