// The empirical runtime distribution of a job: what similar jobs ran that ended recently.
//
// A distribution is a weighted sample. It has the runtimes of the kNumNeighbours nearest ended jobs
// of the job's user and of all users, each scaled by a power of the ratio of the two estimates,
// with weights that fall exponentially with the distance; and the runtimes that were predicted for
// the job, which together weigh as much as all neighbours. The distance of two jobs is a weighted
// sum of differences of the logarithms of requested time, estimate and cores, each up to a bound,
// plus a term for another user and one that grows with the number of jobs that ended later. The
// constants minimize the continuous ranked probability score of the logarithm of runtimes on four
// logs.
//
// Cost: O(kEndedOfUser + kEndedOfAll) distances a job; a job like the one before it is copied.
#pragma once

#include "types.h"

#include <array>

namespace cpsched {

/// Runtimes of ended jobs, and predicted ones, in a distribution at most.
inline constexpr int kNumNeighbours = 32;
inline constexpr int kNumPredicted = 13;
inline constexpr int kMaxSamples = kNumNeighbours + kNumPredicted;
/// Ended jobs remembered of each user and of all.
inline constexpr int kEndedOfUser = 40;
inline constexpr int kEndedOfAll = 250;

/// Logarithms of the requested time, the estimate and the number of cores of a job.
using Traits = std::array<double, 3>;
inline constexpr std::size_t kEstimate = 1;

/// What is known of a job; one row of an array of numbers.
struct JobFacts {
    /// The number of its user; -1: unknown.
    double user;
    double requested_time;
    Traits traits;
    std::array<double, kNumPredicted> predicted;
    /// The weights of the predicted runtimes, which add up to 1 or 0.
    std::array<double, kNumPredicted> predicted_weight;
    /// Seconds that it has run without coming to its end.
    double elapsed;

    bool operator==(const JobFacts &other) const;
};

/// An ended job; one row of an array of numbers.
struct EndedJob {
    double runtime;
    Traits traits;
    double user;
};

/// The jobs that ended last; views of rings that others fill.
struct EndedJobs {
    /// The last kEndedOfAll, and how many ever ended.
    Span<const EndedJob> of_all;
    std::int64_t num_of_all;
    /// The last kEndedOfUser of each user, one user after the other, and how many of each ever
    /// ended.
    Span<const EndedJob> of_users;
    Span<const std::int64_t> num_of_user;
};

/// The distributions of n jobs: rows of kMaxSamples, of which the first `size` count.
struct RuntimeDistributions {
    /// Whole seconds, at least 1 and at most the requested time.
    std::vector<double> runtime;
    /// Add up to 1.
    std::vector<double> weight;
    std::vector<std::int64_t> size;

    explicit RuntimeDistributions(std::size_t num_jobs);
};

/// Computes the distributions of jobs from those that have ended.
class DistributionOfSimilar {
  public:
    /// `scale` is the power of the ratio of estimates by which runtimes are scaled: 1 where
    /// estimates are good, 0 where they mislead.
    DistributionOfSimilar(const EndedJobs &ended, double scale) : ended_(ended), scale_(scale) {}

    /// Return the distributions of jobs; where nothing is known that is the estimate. Runtimes no
    /// longer than a job has run already are left out.
    RuntimeDistributions of(Span<const JobFacts> jobs);

  private:
    struct Neighbour {
        double distance;
        const EndedJob *job;
    };
    struct Sample {
        double runtime;
        double weight;
    };

    /// Take over the traits of the jobs that ended last.
    void note_latest();
    void sample(const JobFacts &job);
    void find_neighbours(const JobFacts &job);
    void add_of_others(const JobFacts &job);
    bool is_full_within(double distance) const;
    void add_neighbour(double distance, const EndedJob &job);
    void add_scaled_runtimes(const JobFacts &job);
    void add_predicted(const JobFacts &job);
    void remove_up_to_elapsed(const JobFacts &job);

    EndedJobs ended_;
    double scale_;
    // The jobs that ended last, the last one first: how many, and each trait of all of them.
    std::size_t num_latest_ = 0;
    std::array<std::array<double, kEndedOfAll>, 3> traits_ = {};
    std::array<const EndedJob *, kEndedOfAll> latest_ = {};
    std::array<double, kEndedOfAll> distance_ = {}; // of one job to each of them
    std::vector<Neighbour> neighbours_;             // by distance
    std::vector<Sample> samples_;
};

/// Distributions of n jobs as rows in arrays that others own; see RuntimeDistributions.
struct DistributionRows {
    const double *runtime;
    const double *weight;
    std::size_t width;
    Span<const std::int64_t> size;
};

/// Means over the runtimes r of each job.
struct ExpectedRuntimes {
    /// Of 1 / max(r, 10): what a second of waiting adds to the bounded slowdown.
    std::vector<double> slope;
    std::vector<double> mean;
};

ExpectedRuntimes expected_runtimes(const DistributionRows &jobs);

/// Return `num` sampled runtimes of each job that are longer than it has run: `num` rows of n.
///
/// The distribution of a job is divided into `num` parts of the same probability, and one runtime
/// is sampled from each; the order of the parts differs from job to job (Latin hypercube sampling;
/// McKay, Beckman and Conover 1979). `otherwise` is taken where a job has run for longer than its
/// distribution says.
std::vector<std::int64_t> sampled_runtimes(const DistributionRows &jobs, std::int64_t num,
                                           std::int64_t seed, Span<const std::int64_t> elapsed,
                                           Span<const std::int64_t> otherwise);

} // namespace cpsched
