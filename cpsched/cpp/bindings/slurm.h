// What the Python classes of Slurm's schedulers share: settings, and arrays that others own.
#pragma once

#include "pass_memory.h"

#include "../slurm/passes.h"
#include "../slurm/usage.h"

namespace cpsched {

using Doubles = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

inline std::vector<std::int64_t> copied(const Ints &array) {
    return {array.data(), array.data() + array.size()};
}
inline std::vector<std::int64_t> copied(const Matrix &array) {
    return {array.data(), array.data() + array.size()};
}
inline std::vector<double> copied(const Doubles &array) {
    return {array.data(), array.data() + array.size()};
}
/// Return the values of a property as an array that owns them.
inline nb::object array_of(const std::vector<double> &values) {
    return nb::cast(moved(std::vector<double>(values)));
}
inline slurm::NodeMasks masks_of(const Masks &masks) {
    const auto *data = reinterpret_cast<const std::uint8_t *>(masks.data());
    return {static_cast<std::int64_t>(masks.shape(0)),
            static_cast<std::int64_t>(masks.shape(1)),
            {data, data + masks.size()}};
}

// --- settings ------------------------------------------------------------------------------------

template <class T>
void read(T &value, const nb::dict &settings, const char *name) {
    value = nb::cast<T>(settings[name]);
}

inline slurm::PrioritySettings priority_settings(const nb::dict &from) {
    slurm::PrioritySettings to;
    read(to.is_basic, from, "is_basic");
    read(to.only_rises, from, "only_rises");
    read(to.accrues_always, from, "accrues_always");
    read(to.by_minutes, from, "by_minutes");
    read(to.changes, from, "changes");
    read(to.age, from, "age");
    read(to.fair_share, from, "fair_share");
    read(to.max_age, from, "max_age");
    read(to.reserves_after, from, "reserves_after");
    return to;
}

inline slurm::UsageSettings usage_settings(const nb::dict &from) {
    slurm::UsageSettings to;
    read(to.counts, from, "counts");
    read(to.is_fair_tree, from, "is_fair_tree");
    read(to.period, from, "period");
    read(to.decay, from, "decay");
    read(to.dampening, from, "dampening");
    return to;
}

inline slurm::TimerSettings timer_settings(const nb::dict &from) {
    slurm::TimerSettings to;
    read(to.lag, from, "lag");
    read(to.defers, from, "defers");
    read(to.depth, from, "depth");
    read(to.delay, from, "delay");
    read(to.interval, from, "interval");
    read(to.least, from, "least");
    read(to.backfill_interval, from, "backfill_interval");
    return to;
}

inline slurm::PassSettings pass_settings(const nb::dict &from) {
    slurm::PassSettings to;
    read(to.partition_depth, from, "partition_depth");
    read(to.most_starts, from, "most_starts");
    read(to.tested, from, "tested");
    read(to.of_user, from, "of_user");
    read(to.of_partition, from, "of_partition");
    read(to.of_user_in_partition, from, "of_user_in_partition");
    read(to.of_association, from, "of_association");
    read(to.backfill_starts, from, "backfill_starts");
    read(to.array_reservations, from, "array_reservations");
    read(to.partition_reservations, from, "partition_reservations");
    read(to.window, from, "window");
    read(to.resolution, from, "resolution");
    read(to.whole_nodes, from, "whole_nodes");
    read(to.gap, from, "gap");
    read(to.least_priority, from, "least_priority");
    read(to.limits_stop, from, "limits_stop");
    read(to.ends_within, from, "ends_within");
    read(to.ends_more, from, "ends_more");
    read(to.tightest_node, from, "tightest_node");
    return to;
}

// --- arrays --------------------------------------------------------------------------------------

struct NodeArrays {
    NodeArrays(std::int64_t allocator_number, const Matrix &node_capacity,
               const Matrix &topology_levels, const Ints &node_weights)
        : allocator(allocator_number), num_nodes(static_cast<std::int64_t>(node_capacity.shape(0))),
          num_resources(static_cast<int>(node_capacity.shape(1))),
          num_levels(static_cast<int>(topology_levels.shape(0))), capacity(copied(node_capacity)),
          levels(copied(topology_levels)), weights(copied(node_weights)),
          least_capacity(node_capacity.shape(1), 0) {}

    slurm::SlurmNodes nodes() const {
        Nodes nodes;
        nodes.num_nodes = num_nodes;
        nodes.num_resources = num_resources;
        nodes.num_levels = num_levels;
        nodes.capacity = capacity.data();
        nodes.levels = levels.data();
        nodes.least_capacity = least_capacity.data();
        return {static_cast<Allocator>(allocator), nodes,
                weights.empty() ? nullptr : weights.data()};
    }

    std::int64_t allocator;
    std::int64_t num_nodes;
    int num_resources;
    int num_levels;
    std::vector<Amount> capacity;
    std::vector<std::int64_t> levels;
    std::vector<std::int64_t> weights;
    std::vector<Amount> least_capacity;
};

/// The request classes and masks of the views that decisions are about.
struct Tables {
    /// Say whether one of them is another object than before.
    bool take(nb::object requests, nb::object eligible) {
        if (requests.is(requests_) && eligible.is(eligible_))
            return false;
        requests_ = std::move(requests);
        eligible_ = std::move(eligible);
        return true;
    }
    RequestTable requests(int num_resources) const {
        const auto rows = nb::cast<Matrix>(requests_);
        return {rows.data(), static_cast<std::int64_t>(rows.shape(0)), num_resources};
    }
    Masks masks() const { return nb::cast<Masks>(eligible_); }

  private:
    nb::object requests_;
    nb::object eligible_;
};

inline Snapshot snapshot_of(Time now, const Matrix &columns, const Ints &running, const Ints &node,
                            const Ints &count, const Matrix &amount) {
    return {now,           reinterpret_cast<const Job *>(columns.data()),
            span(running), node.data(),
            count.data(),  amount.data()};
}

/// Return what has started, by the request classes of the job table.
inline nb::object started_of(const slurm::SlurmPasses &passes, const RequestTable &requests,
                             const Job *jobs) {
    Nodes nodes = passes.nodes();
    nodes.requests = requests;
    return result_of(passes.starts(), nodes, jobs);
}

/// Return the rows of the jobs that backfill has looked at, and for when they are planned.
inline nb::tuple planned_by(const slurm::SlurmPasses &passes, const slurm::Records &records) {
    std::vector<Row> rows;
    std::vector<Time> planned;
    for (const std::size_t number : passes.backfill().jobs()) {
        rows.push_back(records[number].row);
        planned.push_back(records[number].planned);
    }
    return nb::make_tuple(moved(std::move(rows)), moved(std::move(planned)));
}

inline std::vector<std::int64_t> numbers_of(const std::vector<slurm::Started> &started) {
    std::vector<std::int64_t> numbers;
    numbers.reserve(started.size());
    for (const slurm::Started &one : started)
        numbers.push_back(static_cast<std::int64_t>(one.record));
    return numbers;
}

// --- saving --------------------------------------------------------------------------------------

nb::dict usage_state(const slurm::Usage::State &state);
slurm::Usage::State usage_state_of(const nb::dict &saved);

void bind_slurm_parts(const nb::module_ &module);
void bind_slurm_plain(const nb::module_ &module);
void bind_slurm_scheduler(const nb::module_ &module);

} // namespace cpsched
