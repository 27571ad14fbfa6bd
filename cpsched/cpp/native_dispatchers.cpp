#include "native_dispatchers.h"

#include <algorithm>
#include <numeric>

namespace cpsched {

// --- following a cluster
// ---------------------------------------------------------------------------

void PassDispatcher::look_at(Cluster &cluster) {
    state_.nodes.requests = cluster.requests();
    state_.nodes.eligible = cluster.eligible();
    state_.free.forget_fits();
    state_.free.requests_changed();
    state_.free.masks_changed(false, cluster.num_classes());
    state_.classes.clear();
    state_.free.follow(cluster.free());
}

void PassDispatcher::tables_changed(Cluster &cluster) {
    state_.nodes.requests = cluster.requests();
    state_.free.requests_changed();
    if (state_.nodes.eligible != cluster.eligible()) {
        state_.nodes.eligible = cluster.eligible();
        state_.free.masks_changed(true, cluster.num_classes());
    }
}

void PassDispatcher::queue_changed(Cluster & /*cluster*/) {
    state_.classes.clear();
}

void PassDispatcher::freed(const Cluster &cluster, Row /*row*/, const AllocationRanges &nodes) {
    for (std::int64_t k = 0; k < nodes.count; ++k)
        state_.free.give_back(nodes.first[k], nodes.num_nodes[k],
                              nodes.amount + k * cluster.num_resources());
}

PassContext &PassDispatcher::begin(Cluster &cluster, Time now) {
    const AllocationTable table = cluster.allocation_table();
    state_.context.now = {now,         cluster.jobs(),  cluster.running(),
                          table.first, table.num_nodes, table.amount};
    state_.context.starts.clear();
    state_.free.begin_pass();
    return state_.context;
}

// --- fifo
// ------------------------------------------------------------------------------------------

const Starts &FifoDispatcher::decide(Cluster &cluster, Time now) {
    PassContext &context = begin(cluster, now);
    ListPass(context).run(cluster.waiting(), true);
    return context.starts;
}

// --- EASY
// ------------------------------------------------------------------------------------------

void EasyDispatcher::look_at(Cluster &cluster) {
    PassDispatcher::look_at(cluster);
    pass_.forget_queue();
}

void EasyDispatcher::tables_changed(Cluster &cluster) {
    PassDispatcher::tables_changed(cluster);
    pass_.forget();
}

void EasyDispatcher::queue_changed(Cluster &cluster) {
    PassDispatcher::queue_changed(cluster);
    pass_.forget_queue();
}

void EasyDispatcher::freed(const Cluster &cluster, Row row, const AllocationRanges &nodes) {
    PassDispatcher::freed(cluster, row, nodes);
    for (std::int64_t k = 0; k < nodes.count; ++k)
        pass_.freed(nodes.num_nodes[k], nodes.amount + k * cluster.num_resources(),
                    cluster.job(row).expected_end);
}

const Starts &EasyDispatcher::decide(Cluster &cluster, Time now) {
    if (corrections_ != cluster.corrections) {
        corrections_ = cluster.corrections;
        pass_.forget();
    }
    const PassContext &context = begin(cluster, now);
    pass_.run(cluster.queue());
    return context.starts;
}

// --- greedy
// ----------------------------------------------------------------------------------------

double GreedyDispatcher::key(const Job &job, Time now) const {
    const auto waited = static_cast<double>(now - job.submit);
    const auto runtime = static_cast<double>(job.ranking_estimate);
    if (largest_wait_ > 0)
        return -(static_cast<double>(largest_wait_ * (now - job.submit)) /
                 static_cast<double>(job.expected_wait));
    return job.ranking_estimate > 0 ? -((waited + runtime) / runtime) : -waited;
}

const Starts &GreedyDispatcher::decide(Cluster &cluster, Time now) {
    PassContext &context = begin(cluster, now);
    state_.classes.link(cluster.jobs(), cluster.queue());
    state_.classes.may_start(cluster.jobs(), state_.free, rows_);
    keys_.resize(rows_.size());
    order_.resize(rows_.size());
    for (std::size_t i = 0; i < rows_.size(); ++i)
        keys_[i] = key(cluster.job(rows_[i]), now);
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::sort(order_.begin(), order_.end(), [this](std::size_t a, std::size_t b) {
        if (keys_[a] != keys_[b])
            return keys_[a] < keys_[b];
        const double first = demand_[rows_[a]];
        const double second = demand_[rows_[b]];
        return first != second ? first < second : a < b;
    });
    ranked_.resize(rows_.size());
    for (std::size_t i = 0; i < rows_.size(); ++i)
        ranked_[i] = rows_[order_[i]];
    ListPass(context).run(span_of(ranked_), false);
    return context.starts;
}

} // namespace cpsched
