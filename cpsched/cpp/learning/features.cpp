#include "features.h"

#include <algorithm>
#include <cmath>

namespace cpsched {

namespace {

/// Durations are `log1p` of their seconds over that of thirty days.
const double kLongest = std::log1p(30 * 86400.0);
/// Slowdowns are logarithms over that of this.
const double kLargestSlowdown = std::log(10'000.0);
/// Runtimes below this many seconds count as this in a slowdown.
constexpr Time kShortest = 10;
/// A queue of so many jobs is shown as one half.
constexpr double kHalf = 64.0;

double scaled(double seconds) {
    return std::min(std::log1p(seconds) / kLongest, 1.0);
}

double scaled(Time seconds) {
    return scaled(static_cast<double>(seconds));
}

/// Show a number of jobs.
double scaled_count(std::int64_t count) {
    return static_cast<double>(count) / (static_cast<double>(count) + kHalf);
}

double ratio(Amount amount, Amount of) {
    return static_cast<double>(amount) / static_cast<double>(of);
}

} // namespace

ConstantFeatures constant_features_of(Time estimate, const Amount *demand,
                                      const std::vector<Amount> &total) {
    double share = 0;
    for (std::size_t r = 0; r < total.size(); ++r)
        share = std::max(share, ratio(demand[r], std::max<Amount>(total[r], 1)));
    const auto seconds = static_cast<double>(std::max<Time>(estimate, 0));
    return {static_cast<float>(scaled(seconds)), static_cast<float>(std::min(share, 1.0)),
            static_cast<float>(scaled(seconds * share))};
}

bool fits(const Amount *demand, const Amount *free, std::size_t num_resources) {
    for (std::size_t r = 0; r < num_resources; ++r)
        if (demand[r] > free[r])
            return false;
    return true;
}

void PoolObservation::begin(Time now, const Amount *free, std::int64_t num_waiting) {
    availability_.begin(now, free);
    num_running_ = 0;
    free_share_ = static_cast<float>(free_share(free));
    queue_ = static_cast<float>(scaled_count(num_waiting));
}

void PoolObservation::add_running(Time expected_end, const Amount *released) {
    // One that should have ended ends next second.
    availability_.give_back(std::max(expected_end, availability_.time(0) + 1), released);
    ++num_running_;
}

void PoolObservation::show_job(const ShownJob &job, float *row) const {
    const Time waited = availability_.time(0) - job.submit;
    const Time runtime = std::max(job.estimate, kShortest);
    const bool fits_now = fits(job.demand, free(), total_.size());
    row[kIsJob] = 1;
    row[kIsWait] = 0;
    row[kWaited] = static_cast<float>(scaled(waited));
    row[kEstimate] = job.constant.estimate;
    row[kShare] = job.constant.share;
    row[kFitsNow] = fits_now ? 1 : 0;
    row[kShareOfFree] = fits_now ? static_cast<float>(share_of_free(job.demand)) : 1;
    row[kSlowdown] = static_cast<float>(
        std::min(std::log(ratio(waited + runtime, runtime)) / kLargestSlowdown, 1.0));
    row[kUntilFits] = fits_now ? 0 : static_cast<float>(until_fits(job.demand));
    row[kArea] = job.constant.area;
    row[kFree] = free_share_;
    row[kQueue] = queue_;
}

void PoolObservation::show_wait(float *row) const {
    std::fill_n(row, static_cast<std::size_t>(kNumFeatures), 0.0F);
    row[kIsWait] = 1;
    row[kFree] = free_share_;
    row[kQueue] = queue_;
    if (num_running_ > 0)
        row[kUntilFits] = static_cast<float>(scaled(availability_.time(1) - availability_.time(0)));
}

void PoolObservation::show_system(float *row) const {
    for (std::size_t r = 0; r < total_.size(); ++r)
        *row++ = total_[r] > 0 ? static_cast<float>(std::max(ratio(free()[r], total_[r]), 0.0)) : 0;
    *row++ = queue_;
    *row++ = static_cast<float>(scaled_count(num_running_));
    const std::vector<Time> &times = availability_.times();
    for (const Time seconds : kSecondsAhead) {
        const auto behind = std::upper_bound(times.begin(), times.end(), times[0] + seconds);
        const auto segment = static_cast<std::size_t>(behind - times.begin()) - 1;
        *row++ = static_cast<float>(free_share(availability_.level(segment)));
    }
}

/// Return the share of the resource of which least is free.
double PoolObservation::free_share(const Amount *free) const {
    double least = 1;
    for (std::size_t r = 0; r < total_.size(); ++r)
        if (total_[r] > 0)
            least = std::min(least, std::max(ratio(free[r], total_[r]), 0.0));
    return least;
}

/// Return the largest share that a job which fits takes of what is free of a resource.
double PoolObservation::share_of_free(const Amount *demand) const {
    double share = 0;
    for (std::size_t r = 0; r < total_.size(); ++r)
        if (demand[r] > 0)
            share = std::max(share, ratio(demand[r], free()[r]));
    return share;
}

/// Show in how many seconds a job fits if nothing else starts; 0 if it never does.
double PoolObservation::until_fits(const Amount *demand) const {
    const std::size_t segment = availability_.first_with(demand);
    if (segment == availability_.num_segments())
        return 0;
    return scaled(availability_.time(segment) - availability_.time(0));
}

} // namespace cpsched
