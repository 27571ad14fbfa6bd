#include "dispatcher.h"

#include <algorithm>

namespace cpsched::slurm {

void SlurmDispatcher::look_at(Cluster &cluster) {
    const auto size = static_cast<std::size_t>(cluster.num_classes() * cluster.num_nodes());
    const std::size_t known = std::min(size, eligible_.size());
    // A restored state knows of the nodes already.
    const bool is_first = !has_looked_ && !scheduler_.is_restored();
    if (is_first ||
        !std::equal(eligible_.begin(), eligible_.begin() + static_cast<std::ptrdiff_t>(known),
                    cluster.eligible()))
        scheduler_.note_change();
    eligible_.assign(cluster.eligible(), cluster.eligible() + size);
    has_looked_ = true;
    scheduler_.look_at(cluster.requests(), cluster.eligible(), cluster.num_classes());
}

void SlurmDispatcher::tables_changed(Cluster &cluster) {
    scheduler_.take_new_requests(cluster.requests(), cluster.eligible(), cluster.num_classes());
}

const Starts &SlurmDispatcher::decide(Cluster &cluster, Time now) {
    const AllocationTable table = cluster.allocation_table();
    Present present;
    present.now = {now,         cluster.jobs(),  cluster.running(),
                   table.first, table.num_nodes, table.amount};
    present.free = cluster.free();
    present.num_jobs = cluster.num_jobs;
    present.waiting = cluster.waiting();
    present.reordered = cluster.reordered;
    present.brings_requests = true;
    scheduler_.decide(present, source_);
    return scheduler_.passes().starts();
}

} // namespace cpsched::slurm
