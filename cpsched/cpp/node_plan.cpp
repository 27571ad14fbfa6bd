#include "node_plan.h"

#include "windows.h"

namespace cpsched {

NodePlan list_on_nodes(Placer &placer, const PlannedJobs &jobs, Span<const std::int64_t> order,
                       bool occupies, Span<const Time> times, const Amount *levels) {
    const Nodes &nodes = placer.nodes();
    const std::int64_t num_nodes = nodes.num_nodes;
    Availability profile(nodes);
    profile.begin_on_nodes(times, levels);
    WindowSearch search(profile, placer);
    WindowSearch::MostFitting most;
    Pieces pieces;
    NodePlan plan;
    plan.start.assign(jobs.rows.size(), -1);
    plan.tasks.assign(jobs.rows.size() * num_nodes, 0);
    for (const std::int64_t job : order) {
        Request request = request_of(jobs.jobs[jobs.rows[job]], nodes.requests);
        request.duration = jobs.duration[job];
        most.assign(profile.num_segments(), kFar);
        const auto segment = search.find(request, 0, profile.num_segments(), most, pieces);
        if (!segment)
            continue;
        const Time start = profile.time(*segment);
        plan.start[job] = start;
        for (const Piece &piece : pieces)
            plan.tasks[job * num_nodes + piece.range] = piece.tasks;
        if (occupies)
            profile.occupy(*segment, start + request.duration, request.what, pieces);
    }
    return plan;
}

} // namespace cpsched
