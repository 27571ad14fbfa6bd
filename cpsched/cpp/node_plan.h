// List plans on the nodes of a system: each job gets the earliest window in which it can be placed.
//
// Unlike a pass over the queue (passes/conservative.h), this plans any jobs on any free capacity
// that never falls, and starts nothing. Exact where pool.h relaxes.
//
// Cost, for n jobs: n window searches (windows.h) on single nodes.
#pragma once

#include "pass.h"

namespace cpsched {

/// Planned starts of n jobs, and where they run.
struct NodePlan {
    /// -1 for a job that fits at no time.
    std::vector<Time> start;
    /// Tasks of each job on each node, shape (n, N).
    std::vector<std::int64_t> tasks;
};

/// Jobs to plan, and for how long each runs.
struct PlannedJobs {
    const Job *jobs;
    Span<const Row> rows;
    Span<const Time> duration;
};

/// Give jobs, in some order of their positions, the earliest window in which each can be placed.
///
/// Nodes have levels[i], shape (N, R), from times[i] on, and never less later. If `occupies`, each
/// job takes its window from those after it; otherwise each is planned alone.
NodePlan list_on_nodes(Placer &placer, const PlannedJobs &jobs, Span<const std::int64_t> order,
                       bool occupies, Span<const Time> times, const Amount *levels);

} // namespace cpsched
