#include "pass_counts.h"

#include <algorithm>

namespace cpsched::slurm {

void PassCounts::clear() {
    for (Limited *limited : {&users_, &partitions_, &both_, &associations_, &reserved_})
        std::fill(limited->counts.begin(), limited->counts.end(), 0);
}

bool PassCounts::Limited::is_used_up(std::int64_t number, std::int64_t counted) {
    if (number < 0 || most >= kFar)
        return false;
    const auto at = static_cast<std::size_t>(number);
    if (at >= counts.size())
        counts.resize(at + 1, 0);
    counts[at] += counted;
    return counts[at] - counted >= most;
}

bool PassCounts::too_many(const Record &record, std::int64_t counted) {
    const std::int64_t both = record.user * num_partitions_ + record.partition;
    // A job counts no further than the first limit that it is over.
    return users_.is_used_up(record.user, counted) ||
           partitions_.is_used_up(record.partition, counted) ||
           (record.user >= 0 && both_.is_used_up(both, counted)) ||
           associations_.is_used_up(record.association, counted);
}

} // namespace cpsched::slurm
