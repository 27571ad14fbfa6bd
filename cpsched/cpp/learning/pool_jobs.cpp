#include "pool_jobs.h"

namespace cpsched {

PoolJobs::PoolJobs(Columns columns, std::vector<Amount> total)
    : columns_(std::move(columns)), total_(std::move(total)) {
    const auto num_jobs = static_cast<Row>(size());
    constant_.reserve(size());
    for (Row row = 0; row < num_jobs; ++row)
        constant_.push_back(constant_features_of(estimate(row), demand(row), total_));
}

} // namespace cpsched
