// A weighted sample of runtimes as a prediction: quantiles, probabilities, and a runtime to rank
// by.
//
// Samples are clipped to [1, requested time]. A job that asks for no more than the first horizon
// may end anywhere in it, so a tenth of its distribution is spread geometrically from 1 second to
// its limit. Jobs are ranked by sqrt(E[r] / E[1 / max(r, 10)]), the rule of Smith (1956) for the
// bounded slowdown.
//
// Cost: O(K log K) for the K samples of a job.
#pragma once

#include "types.h"

namespace cpsched {

/// At which points distributions are described.
struct PredictionPoints {
    /// Seconds, rising.
    Span<const std::int64_t> horizons;
    /// Probabilities, rising.
    Span<const double> levels;
};

struct RuntimePredictions {
    /// Whole seconds, a row of levels a job.
    std::vector<std::int64_t> quantiles;
    /// Probabilities to end within the horizons, a row of horizons a job.
    std::vector<double> ends_within;
    /// What to rank each job by.
    std::vector<double> ranking;
};

/// Return the predictions of n jobs.
///
/// `runtime` and `weight` are rows of `width` samples a job, of which at least one has a weight
/// above 0; `limit` is the requested time of each job, 1 or more.
RuntimePredictions runtime_predictions(const double *runtime, const double *weight,
                                       std::size_t width, Span<const std::int64_t> limit,
                                       const PredictionPoints &points);

} // namespace cpsched
