#include "plain.h"

namespace cpsched::slurm {

PlainSlurm::PlainSlurm(const PassSettings &settings, const SlurmNodes &nodes)
    : settings_(settings),
      passes_(settings_, nodes, partitions_, 0, reservations_, records_, limits_) {
    limits_.add_set({});
}

void PlainSlurm::run(Span<const Row> rows, bool backfills, const Snapshot &now,
                     const Amount *free) {
    records_.clear();
    queue_.clear();
    for (const Row row : rows) {
        Record record;
        record.row = row;
        record.partition = now.jobs[row].queue;
        record.request_id = now.jobs[row].request_id;
        queue_.insert(records_.size(), 0);
        records_.add(record);
    }
    passes_.run(queue_, kFar, backfills, now, free);
}

} // namespace cpsched::slurm
