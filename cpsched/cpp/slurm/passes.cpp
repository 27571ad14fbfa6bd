#include "passes.h"

namespace cpsched::slurm {

namespace {

Nodes weighted(Nodes nodes, const std::int64_t *weights) {
    nodes.weights = weights;
    return nodes;
}

} // namespace

SlurmPasses::SlurmPasses(const PassSettings &settings, const SlurmNodes &nodes,
                         const NodeMasks &partitions, std::int64_t num_partitions,
                         const Reservations &reservations, Records &records, Limits &limits)
    : nodes_(nodes.nodes), weighted_nodes_(weighted(nodes.nodes, nodes.weights)),
      input_{settings, nodes_, partitions, reservations, records, limits, {}, nullptr},
      first_fit_(Allocator::kFirstFit, nodes_),
      choice_(nodes.allocator, weighted_nodes_, settings.tightest_node), profile_(nodes_),
      main_(input_, profile_, choice_),
      backfill_(input_, profile_, first_fit_, choice_, num_partitions) {}

void SlurmPasses::look_at(const RequestTable &requests, const std::uint8_t *eligible) {
    for (Nodes *nodes : {&nodes_, &weighted_nodes_}) {
        nodes->requests = requests;
        nodes->eligible = eligible;
    }
}

void SlurmPasses::masks_changed(std::int64_t num_masks) {
    const std::int64_t num_nodes = nodes_.num_nodes;
    apart_ = RangeStarts(num_nodes);
    begins_ = apart_;
    if (num_nodes > 0)
        apart_.begin_at(0);
    const auto differ = [num_nodes](const auto *values, std::int64_t node) {
        return values[node] != values[node - 1];
    };
    const auto begin_by_masks = [&](const std::uint8_t *masks, std::int64_t count) {
        for (std::int64_t mask = 0; mask < count; ++mask)
            for (std::int64_t node = 1; node < num_nodes; ++node)
                if (differ(masks + mask * num_nodes, node))
                    apart_.begin_at(node);
    };
    begin_by_masks(nodes_.eligible, num_masks);
    begin_by_masks(input_.partitions.masks.data(), input_.partitions.count);
    begin_by_masks(input_.reservations.nodes.masks.data(), input_.reservations.nodes.count);
    const Nodes &nodes = weighted_nodes_;
    for (std::int64_t node = 1; node < num_nodes; ++node) {
        const bool same_capacity = std::equal(nodes.capacity_of(node - 1), nodes.capacity_of(node),
                                              nodes.capacity_of(node));
        // No range is in two of the lowest groups of the topology.
        const bool same_group = nodes.group_of(0, node) == nodes.group_of(0, node - 1);
        const bool same_weight = nodes.weights == nullptr || !differ(nodes.weights, node);
        if (!same_capacity || !same_group || !same_weight)
            apart_.begin_at(node);
    }
}

void SlurmPasses::find_ranges(bool by_allocations) {
    begins_ = apart_;
    const std::int64_t width = nodes_.num_resources;
    const Amount *before = input_.free;
    for (std::int64_t node = 1; node < nodes_.num_nodes; ++node, before += width)
        if (!are_equal(before, before + width, width))
            begins_.begin_at(node);
    if (by_allocations)
        mark_allocations(begins_, input_.now, input_.now.running.size());
}

void SlurmPasses::clear() {
    starts_.clear();
    main_.clear();
    backfill_.clear();
}

void SlurmPasses::run(const Queue &queue, std::int64_t depth, bool backfills, const Snapshot &now,
                      const Amount *free) {
    clear();
    input_.now = now;
    input_.free = free;
    find_ranges(backfills);
    begin_profile();
    if (depth > 0)
        main_.run(queue, depth, starts_);
    if (!backfills)
        return;
    if (depth > 0) {
        // What was free besides what has started, whoever waits for it.
        begin_profile();
        follow_main(false);
    }
    if (!backfill_.begin(not_started(queue)))
        return;
    begin_profile();
    follow_ends();
    follow_main(true);
    backfill_.run(starts_);
}

/// Return the jobs that backfill looks at, in order.
std::vector<std::size_t> SlurmPasses::not_started(const Queue &queue) const {
    std::vector<std::size_t> jobs;
    // What the main pass has started is in the queue's order.
    auto started = main_.started().begin();
    for (const Queue::Place &place : queue.places()) {
        if (static_cast<std::int64_t>(jobs.size()) >= input_.settings.tested)
            break;
        if (started != main_.started().end() && started->record == place.record)
            ++started;
        else if (!has_started_elsewhere(input_, main_.started(), input_.records[place.record]))
            jobs.push_back(place.record);
    }
    return jobs;
}

/// Return when running jobs end, as far as ends are told apart.
std::vector<Time> SlurmPasses::ends_of_running() const {
    std::vector<Time> ends;
    ends.reserve(input_.now.running.size());
    for (const Row row : input_.now.running)
        ends.push_back(input_.now.jobs[row].expected_end);
    Time within = input_.settings.ends_within;
    if (within == 0)
        return ends;
    for (auto first = ends.begin(); first != ends.end();) {
        const auto behind = std::upper_bound(first, ends.end(), *first + within);
        std::fill(first, behind, *(behind - 1));
        first = behind;
        within = input_.settings.ends_more > 0 ? within + input_.settings.ends_more : 2 * within;
    }
    return ends;
}

void SlurmPasses::follow_ends() {
    const Snapshot &now = input_.now;
    const std::vector<Time> ends = ends_of_running();
    std::size_t row = profile_.row(0);
    for (std::size_t i = 0; i < ends.size(); ++i) {
        // A job that should have ended by now ends in the next second.
        const Time end = std::max(ends[i], now.now + 1);
        if (end > profile_.times().back())
            row = profile_.append(end);
        profile_.give_back(row, now.jobs[now.running[i]], now);
    }
}

void SlurmPasses::follow_main(bool until_ends) {
    for (const Started &one : main_.started()) {
        const Request request = input_.request_of(one.record);
        pieces_ = one.pieces;
        profile_.split(pieces_);
        if (until_ends)
            profile_.occupy(0, input_.now.now + request.duration, request.what, pieces_);
        else
            profile_.take_off(profile_.row(0), request.what, pieces_);
    }
}

} // namespace cpsched::slurm
