// Starting one job on what is free now.
//
// First-fit places most jobs without a choice among nodes: it fills them in their order, and stops
// where all tasks are placed. That needs no list of all ranges of nodes, and is by far the most
// common case; every other job is placed by the allocator on all ranges that hold a task of it.
#include "pass.h"

#include <algorithm>
#include <optional>

namespace cpsched {

namespace {

/// Append nodes to a placement, as a part of its last span where that may be.
void append(Placement &placement, const NodeSpan &added) {
    if (!placement.empty()) {
        NodeSpan &last = placement.back();
        if (last.first + last.count == added.first && last.tasks == added.tasks) {
            last.count += added.count;
            return;
        }
    }
    placement.push_back(added);
}

/// Place a job on nodes in their order; says whether it fits so.
///
/// A job that may not have as many nodes as it likes passes over a node if with it the best of
/// those behind (nullptr: any number) could not hold the rest.
bool fill_first_nodes(const FreeNodes &free, const Request &request, NodeCounts *behind,
                      Placement &placement) {
    const Nodes &nodes = free.nodes();
    std::int64_t left = request.tasks;
    std::int64_t used = 0;
    placement.clear();
    for (std::int64_t first = 0; first < nodes.num_nodes;) {
        const std::int64_t end = free.range_starts().end_of(first);
        const std::int64_t fitting =
            num_fitting_tasks(nodes, free.of_range(first), first, request.what);
        std::int64_t count = 1;
        for (std::int64_t node = first; fitting > 0 && node < end; node += count) {
            // A task is left for each node that the job must have in addition.
            const std::int64_t owed = std::max<std::int64_t>(request.nodes_min - used - 1, 0);
            const std::int64_t tasks = std::min(fitting, left - owed);
            count = 1;
            if (behind != nullptr) {
                behind->add(fitting, -1);
                if (!behind->fit(request.nodes_max - used - 1, left - tasks))
                    continue;
            } else {
                const std::int64_t most = std::min(end - node, request.nodes_max - used);
                count = num_alike(tasks, fitting, most, left, owed);
            }
            append(placement, {node, count, tasks});
            left -= count * tasks;
            used += count;
            if (left == 0 || used == request.nodes_max)
                return left == 0 && used >= request.nodes_min;
        }
        first = end;
    }
    return false;
}

/// Place a job by first-fit; empty where that is not known so.
std::optional<bool> place_first_fit(PassContext &context, const Request &request) {
    const RequestClass &what = request.what;
    if (context.placer.allocator() != Allocator::kFirstFit || what.is_even() ||
        what.is_contiguous() || what.is_confined())
        return std::nullopt;
    NodeCounts *behind = nullptr;
    if (std::min(request.nodes_max, context.nodes.num_nodes) < request.tasks) {
        const NodeCounts *counts = context.free.counts(request.request_id);
        if (counts != nullptr && !counts->has_many()) {
            behind = &context.scratch.behind;
            *behind = *counts;
        }
    }
    if (fill_first_nodes(context.free, request, behind, context.scratch.placement))
        return true;
    // A job with few nodes may fit if it passes over some of them.
    if (request.nodes_max >= request.tasks)
        return false;
    return std::nullopt;
}

/// Place a job on what is free now, in the scratch of the context; says whether it fits.
bool place_now(PassContext &context, const Request &request) {
    if (const std::optional<bool> fits = place_first_fit(context, request))
        return *fits;
    PassContext::Scratch &scratch = context.scratch;
    context.free.ranges_with_room(request.what, scratch.ranges, scratch.free);
    if (!context.placer.place(scratch.free.data(), scratch.ranges, request, scratch.pieces))
        return false;
    spans_of(scratch.pieces, scratch.ranges, scratch.placement);
    return true;
}

} // namespace

bool start_now(PassContext &context, Row row) {
    const Request request = context.request_of(row);
    if (request.tasks < request.nodes_min || !context.free.may_fit(request) ||
        !place_now(context, request))
        return false;
    context.free.take(request.what, context.scratch.placement);
    context.starts.add(row, context.scratch.placement);
    return true;
}

} // namespace cpsched
