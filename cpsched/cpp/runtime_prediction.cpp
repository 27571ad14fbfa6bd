#include "runtime_prediction.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace cpsched {

namespace {

/// Runtimes below this many seconds count as this in the bounded slowdown.
constexpr double kBound = 10.0;
/// Of a job that may end anywhere: so much of its distribution lies at so many points (a sample
/// weighs about 1 / 10).
constexpr double kAnywhere = 0.1;
constexpr int kPoints = 6;
/// What rounding may add to a sum of weights.
constexpr double kRounding = 1e-9;

struct Sample {
    double seconds;
    double weight;
};

/// Describes the distribution of one job at a time.
class Describer {
  public:
    explicit Describer(const PredictionPoints &points) : points_(points) {}

    void look_at(const double *runtime, const double *weight, std::size_t width,
                 std::int64_t limit);
    double ranking() const;
    void append_ends_within(std::vector<double> &ends_within);
    void append_quantiles(std::vector<std::int64_t> &quantiles);

  private:
    void add_points(double limit);

    PredictionPoints points_;
    std::vector<Sample> samples_;
    std::vector<double> mass_; // between horizons
    double total_ = 0.0;
};

void Describer::look_at(const double *runtime, const double *weight, std::size_t width,
                        std::int64_t limit) {
    const auto max_runtime = static_cast<double>(limit);
    samples_.clear();
    for (std::size_t k = 0; k < width; ++k)
        if (weight[k] > 0.0)
            samples_.push_back({std::min(std::max(runtime[k], 1.0), max_runtime), weight[k]});
    if (limit <= points_.horizons[0])
        add_points(max_runtime);
    mass_.assign(points_.horizons.size() + 1, 0.0);
    for (const Sample &sample : samples_) {
        const auto is_below = [](std::int64_t horizon, double seconds) {
            return static_cast<double>(horizon) < seconds;
        };
        const auto horizon = std::lower_bound(points_.horizons.begin(), points_.horizons.end(),
                                              sample.seconds, is_below);
        mass_[static_cast<std::size_t>(horizon - points_.horizons.begin())] += sample.weight;
    }
    total_ = std::accumulate(mass_.begin(), mass_.end(), 0.0);
}

/// Add a part that may end at any time up to the limit.
void Describer::add_points(double limit) {
    for (int point = 0; point < kPoints; ++point) {
        const double power = std::log(limit) * (point + 0.5) / kPoints;
        samples_.push_back({std::floor(std::exp(power) + 0.5), kAnywhere / kPoints});
    }
}

double Describer::ranking() const {
    double mean = 0.0;
    double slope = 0.0;
    for (const Sample &sample : samples_) {
        mean += sample.weight * sample.seconds;
        slope += sample.weight / std::max(sample.seconds, kBound);
    }
    return std::sqrt(mean / slope);
}

void Describer::append_ends_within(std::vector<double> &ends_within) {
    double below = 0.0;
    for (std::size_t at = 0; at < points_.horizons.size(); ++at) {
        below += mass_[at];
        ends_within.push_back(below / total_);
    }
}

void Describer::append_quantiles(std::vector<std::int64_t> &quantiles) {
    std::stable_sort(samples_.begin(), samples_.end(), [](const Sample &one, const Sample &other) {
        return one.seconds < other.seconds;
    });
    auto sample = samples_.begin();
    double below = sample->weight;
    for (const double level : points_.levels) {
        while (sample + 1 != samples_.end() && below < level * total_ - kRounding) {
            ++sample;
            below += sample->weight;
        }
        quantiles.push_back(static_cast<std::int64_t>(sample->seconds));
    }
}

} // namespace

RuntimePredictions runtime_predictions(const double *runtime, const double *weight,
                                       std::size_t width, Span<const std::int64_t> limit,
                                       const PredictionPoints &points) {
    RuntimePredictions predictions;
    Describer describer(points);
    for (std::size_t job = 0; job < limit.size(); ++job) {
        describer.look_at(runtime + job * width, weight + job * width, width, limit[job]);
        predictions.ranking.push_back(describer.ranking());
        describer.append_ends_within(predictions.ends_within);
        describer.append_quantiles(predictions.quantiles);
    }
    return predictions;
}

} // namespace cpsched
