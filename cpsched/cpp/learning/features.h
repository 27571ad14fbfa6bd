// What an agent is shown of a queue and of a pool, as numbers from 0 to 1.
//
// Episodes and the dispatcher of a trained policy fill their rows by the same functions. No runtime
// is in them: all is known at submit, or follows from when running jobs are expected to end.
//
// Cost: two logarithms and O(R) for a job that fits, O(R log B) more for one that does not where B
// jobs run.
#pragma once

#include "../pool.h"

#include <array>

namespace cpsched {

/// Columns of a row of an observation, one row for each action.
enum Feature : std::size_t {
    kIsJob,
    kIsWait,
    kWaited,
    kEstimate,
    kShare,
    kFitsNow,
    kShareOfFree,
    kSlowdown,
    kUntilFits,
    kArea,
    kFree,
    kQueue,
    kNumFeatures,
};
/// Their names, in order.
inline constexpr std::array<const char *, kNumFeatures> kFeatureNames{
    "is_job",        "is_wait",  "waited",     "estimate", "share", "fits",
    "share_of_free", "slowdown", "until_fits", "area",     "free",  "queue"};

/// Seconds from now on for which the free share is shown in the row of the system.
inline constexpr std::array<Time, 4> kSecondsAhead{600, 3600, 14400, 86400};

/// What never changes of a job.
struct ConstantFeatures {
    float estimate;
    float share;
    float area;
};
ConstantFeatures constant_features_of(Time estimate, const Amount *demand,
                                      const std::vector<Amount> &total);

/// One job to be shown.
struct ShownJob {
    Time submit;
    Time estimate;
    const Amount *demand;
    ConstantFeatures constant;
};

/// Say whether a job's needs are no more than what is free of any resource.
bool fits(const Amount *demand, const Amount *free, std::size_t num_resources);

/// What is shown of one instant: a pool, and how many jobs wait and run.
class PoolObservation {
  public:
    /// `total`, of each resource, must outlive this.
    explicit PoolObservation(const std::vector<Amount> &total)
        : total_(total), availability_(0, std::vector<Amount>(total.size())) {}

    /// Begin an instant at which so much is free.
    void begin(Time now, const Amount *free, std::int64_t num_waiting);
    /// Add a running job by when it is expected to end, in that order, and what it releases.
    void add_running(Time expected_end, const Amount *released);

    /// Fill the row of a job.
    void show_job(const ShownJob &job, float *row) const;
    /// Fill the row of the action that starts nothing.
    void show_wait(float *row) const;
    /// Fill the row of the system: the free share of each resource, the length of the queue, how
    /// many jobs run, and the free share of the scarcest resource after each of `kSecondsAhead`.
    void show_system(float *row) const;
    static std::size_t num_system_features(std::size_t num_resources) {
        return num_resources + 2 + kSecondsAhead.size();
    }

  private:
    const Amount *free() const { return availability_.level(0); }
    double free_share(const Amount *free) const;
    double share_of_free(const Amount *demand) const;
    double until_fits(const Amount *demand) const;

    const std::vector<Amount> &total_;
    PooledAvailability availability_;
    std::int64_t num_running_ = 0;
    float free_share_ = 0;
    float queue_ = 0;
};

} // namespace cpsched
