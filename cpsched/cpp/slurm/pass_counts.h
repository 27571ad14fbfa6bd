// How many jobs of each user, partition and association a backfill pass has considered.
//
// bf_max_job_user, bf_max_job_part, bf_max_job_user_part, bf_max_job_assoc and
// bf_job_part_count_reserve of slurm.conf. What is not limited is not counted.
#pragma once

#include "record.h"
#include "settings.h"

namespace cpsched::slurm {

class PassCounts {
  public:
    PassCounts(const PassSettings &settings, std::int64_t num_partitions)
        : users_(settings.of_user), partitions_(settings.of_partition),
          both_(settings.of_user_in_partition), associations_(settings.of_association),
          reserved_(settings.partition_reservations), num_partitions_(num_partitions) {}

    void clear();
    /// Say whether the pass has reached a limit for a job like this, which is counted: the pass
    /// looks at it now.
    bool consider(const Record &record) { return too_many(record, 1); }
    /// Say the same of a job that is not counted.
    bool is_used_up(const Record &record) { return too_many(record, 0); }

    /// Count a reservation for a job that has to wait.
    void reserve(const Record &record) { reserved_.is_used_up(record.partition, 1); }
    bool may_reserve(const Record &record) { return !reserved_.is_used_up(record.partition, 0); }

    /// How many jobs of each user have been considered; empty where that is not limited.
    const std::vector<std::int64_t> &users() const { return users_.counts; }
    bool limits_users() const { return users_.most < kFar; }

  private:
    struct Limited {
        explicit Limited(std::int64_t limit) : most(limit) {}
        std::int64_t most;
        std::vector<std::int64_t> counts;
        /// Count so many more; says whether one more was too many.
        bool is_used_up(std::int64_t number, std::int64_t counted);
    };

    bool too_many(const Record &record, std::int64_t counted);

    Limited users_;
    Limited partitions_;
    Limited both_;
    Limited associations_;
    Limited reserved_;
    std::int64_t num_partitions_;
};

} // namespace cpsched::slurm
