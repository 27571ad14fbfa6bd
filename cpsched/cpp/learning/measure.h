// What an agent is paid by: means over the jobs of a window, the lower the better.
#pragma once

#include "pool_jobs.h"

#include <algorithm>

namespace cpsched {

/// The numbers are those of cpsched/gym/options.py.
enum class Measure : std::uint8_t { kBoundedSlowdown = 0, kWait = 1, kResponseByArea = 2 };

/// Return what a job weighs in a mean: its area in the response by area, else 1.
inline double weight_of(Measure measure, const PoolJobs &jobs, Row row) {
    if (measure == Measure::kResponseByArea)
        return static_cast<double>(jobs.demand(row)[0] * jobs.runtime(row));
    return 1;
}

/// Return what a job adds to the sum once it has waited so long.
inline double cost_of(Measure measure, const PoolJobs &jobs, Row row, Time waited) {
    constexpr Time kShortest = 10; // shorter runtimes count as this in the bounded slowdown
    const Time runtime = jobs.runtime(row);
    const auto response = static_cast<double>(waited + runtime);
    switch (measure) {
    case Measure::kBoundedSlowdown:
        return std::max(1.0, response / static_cast<double>(std::max(runtime, kShortest)));
    case Measure::kWait:
        return static_cast<double>(waited);
    case Measure::kResponseByArea:
        return static_cast<double>(jobs.demand(row)[0] * runtime) * response;
    }
    return 0;
}

} // namespace cpsched
