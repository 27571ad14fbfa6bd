#include "runtime_distribution.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace cpsched {

namespace {

/// Runtimes below this many seconds count as this in the bounded slowdown.
constexpr double kBound = 10.0;
/// Weights of the differences of traits, and the bounds on these differences.
constexpr Traits kTraitWeight = {1.0, 1.0, 2.0};
constexpr Traits kMaxDifference = {3.0, 3.0, 1.0};
/// Another user counts as much as requests that differ by a factor of 12.
constexpr double kOtherUser = 2.5;

/// Distances of the job that ended last, the one before it, and so on.
template <int kCount>
std::array<double, kCount> distances_by_rank(double weight) noexcept {
    std::array<double, kCount> distances;
    for (std::size_t rank = 0; rank < distances.size(); ++rank)
        distances[rank] = weight * std::log(static_cast<double>(1 + rank));
    return distances;
}

const auto kRankOfUser = distances_by_rank<kEndedOfUser>(0.5);
const auto kRankOfAll = distances_by_rank<kEndedOfAll>(0.1);

double distance_of_traits(const Traits &one, const Traits &other) {
    double distance = 0.0;
    for (std::size_t trait = 0; trait < one.size(); ++trait) {
        const double difference = std::abs(one[trait] - other[trait]);
        distance += kTraitWeight[trait] * std::min(difference, kMaxDifference[trait]);
    }
    return distance;
}

double within_limits(double seconds, const JobFacts &job) {
    return std::min(std::max(seconds, 1.0), job.requested_time);
}

/// The linear congruential generator of POSIX drand48: 48 bits, of which 32 are given out.
class RandomNumbers {
  public:
    explicit RandomNumbers(std::int64_t seed) : state_(static_cast<std::uint64_t>(seed)) { step(); }

    std::int64_t next() {
        step();
        return static_cast<std::int64_t>(state_ >> 16);
    }

  private:
    void step() { state_ = (state_ * 25214903917U + 11U) & ((std::uint64_t{1} << 48) - 1); }

    std::uint64_t state_;
};

void shuffle(std::vector<std::int64_t> &values, RandomNumbers &random) {
    std::iota(values.begin(), values.end(), 0);
    for (std::size_t at = values.size(); at-- > 1;)
        std::swap(values[at], values[static_cast<std::size_t>(random.next()) % (at + 1)]);
}

} // namespace

bool JobFacts::operator==(const JobFacts &other) const {
    return user == other.user && requested_time == other.requested_time && traits == other.traits &&
           predicted == other.predicted && predicted_weight == other.predicted_weight &&
           elapsed == other.elapsed;
}

RuntimeDistributions::RuntimeDistributions(std::size_t num_jobs)
    : runtime(num_jobs * kMaxSamples, 1.0), weight(num_jobs * kMaxSamples, 0.0), size(num_jobs, 1) {
}

RuntimeDistributions DistributionOfSimilar::of(Span<const JobFacts> jobs) {
    RuntimeDistributions distributions(jobs.size());
    note_latest();
    for (std::size_t at = 0; at < jobs.size(); ++at) {
        // A long queue is mostly bursts of the same job.
        if (at == 0 || !(jobs[at] == jobs[at - 1]))
            sample(jobs[at]);
        distributions.size[at] = static_cast<std::int64_t>(samples_.size());
        for (std::size_t k = 0; k < samples_.size(); ++k) {
            distributions.runtime[at * kMaxSamples + k] = samples_[k].runtime;
            distributions.weight[at * kMaxSamples + k] = samples_[k].weight;
        }
    }
    return distributions;
}

void DistributionOfSimilar::note_latest() {
    const std::int64_t num = ended_.num_of_all;
    num_latest_ = static_cast<std::size_t>(std::min<std::int64_t>(num, kEndedOfAll));
    for (std::size_t rank = 0; rank < num_latest_; ++rank) {
        const std::int64_t place = (num - 1 - static_cast<std::int64_t>(rank)) % kEndedOfAll;
        latest_[rank] = &ended_.of_all[static_cast<std::size_t>(place)];
        for (std::size_t trait = 0; trait < traits_.size(); ++trait)
            traits_[trait][rank] = latest_[rank]->traits[trait];
    }
}

void DistributionOfSimilar::sample(const JobFacts &job) {
    samples_.clear();
    find_neighbours(job);
    add_scaled_runtimes(job);
    add_predicted(job);
    if (samples_.empty()) {
        const double estimate = std::nearbyint(std::exp(job.traits[kEstimate]));
        samples_.push_back({within_limits(estimate, job), 1.0});
    }
    if (job.elapsed > 0)
        remove_up_to_elapsed(job);
}

/// Find the nearest ended jobs among those of the job's user and of all.
void DistributionOfSimilar::find_neighbours(const JobFacts &job) {
    neighbours_.clear();
    const auto user = static_cast<std::int64_t>(job.user);
    if (user >= 0 && user < static_cast<std::int64_t>(ended_.num_of_user.size())) {
        const std::int64_t num = ended_.num_of_user[static_cast<std::size_t>(user)];
        for (std::int64_t rank = 0; rank < std::min<std::int64_t>(num, kEndedOfUser); ++rank) {
            const double by_rank = kRankOfUser[static_cast<std::size_t>(rank)];
            if (is_full_within(by_rank))
                break;
            const std::int64_t place = user * kEndedOfUser + (num - 1 - rank) % kEndedOfUser;
            const EndedJob &ended = ended_.of_users[static_cast<std::size_t>(place)];
            add_neighbour(distance_of_traits(job.traits, ended.traits) + by_rank, ended);
        }
    }
    add_of_others(job);
}

/// Add the nearest ended jobs of other users.
void DistributionOfSimilar::add_of_others(const JobFacts &job) {
    // The same sums as in distance_of_traits, for all ended jobs at once.
    std::fill_n(distance_.begin(), num_latest_, 0.0);
    for (std::size_t trait = 0; trait < traits_.size(); ++trait) {
        const double own = job.traits[trait];
        const double most = kMaxDifference[trait];
        const double weight = kTraitWeight[trait];
        for (std::size_t rank = 0; rank < num_latest_; ++rank) {
            const double difference = std::abs(own - traits_[trait][rank]);
            distance_[rank] += weight * std::min(difference, most);
        }
    }
    for (std::size_t rank = 0; rank < num_latest_; ++rank) {
        const double distance = kOtherUser + distance_[rank] + kRankOfAll[rank];
        // The jobs of the same user are among the neighbours already.
        if (!is_full_within(distance) && (job.user < 0 || latest_[rank]->user != job.user))
            add_neighbour(distance, *latest_[rank]);
    }
}

/// Say whether there are enough neighbours that are no farther than this.
bool DistributionOfSimilar::is_full_within(double distance) const {
    return neighbours_.size() == kNumNeighbours && distance >= neighbours_.back().distance;
}

/// Insert an ended job behind those that are as near; the farthest one leaves in need.
void DistributionOfSimilar::add_neighbour(double distance, const EndedJob &job) {
    if (is_full_within(distance))
        return;
    if (neighbours_.size() == kNumNeighbours)
        neighbours_.pop_back();
    const auto place = std::upper_bound(
        neighbours_.begin(), neighbours_.end(), distance,
        [](double value, const Neighbour &neighbour) { return value < neighbour.distance; });
    neighbours_.insert(place, {distance, &job});
}

void DistributionOfSimilar::add_scaled_runtimes(const JobFacts &job) {
    double total = 0.0;
    for (const Neighbour &neighbour : neighbours_) {
        const double apart = job.traits[kEstimate] - neighbour.job->traits[kEstimate];
        const double seconds = neighbour.job->runtime * std::exp(scale_ * apart);
        const double weight = std::exp(neighbours_.front().distance - neighbour.distance);
        samples_.push_back({std::nearbyint(within_limits(seconds, job)), weight});
        total += weight;
    }
    for (Sample &sample : samples_)
        sample.weight /= total;
}

/// Add the predicted runtimes, which together weigh as much as all neighbours.
void DistributionOfSimilar::add_predicted(const JobFacts &job) {
    const std::size_t num_neighbours = samples_.size();
    for (std::size_t k = 0; k < kNumPredicted; ++k)
        if (job.predicted_weight[k] > 0)
            samples_.push_back({within_limits(job.predicted[k], job), job.predicted_weight[k]});
    if (num_neighbours > 0 && samples_.size() > num_neighbours)
        for (Sample &sample : samples_)
            sample.weight *= 0.5;
}

void DistributionOfSimilar::remove_up_to_elapsed(const JobFacts &job) {
    const auto is_over = [&](const Sample &sample) { return !(sample.runtime > job.elapsed); };
    samples_.erase(std::remove_if(samples_.begin(), samples_.end(), is_over), samples_.end());
    if (samples_.empty()) {
        // It runs longer than any job like it: only its limit is known.
        samples_.push_back({job.requested_time, 1.0});
        return;
    }
    double total = 0.0;
    for (const Sample &sample : samples_)
        total += sample.weight;
    for (Sample &sample : samples_)
        sample.weight /= total;
}

ExpectedRuntimes expected_runtimes(const DistributionRows &jobs) {
    ExpectedRuntimes expected{std::vector<double>(jobs.size.size(), 0.0),
                              std::vector<double>(jobs.size.size(), 0.0)};
    for (std::size_t job = 0; job < jobs.size.size(); ++job) {
        for (std::size_t k = 0; k < static_cast<std::size_t>(jobs.size[job]); ++k) {
            const double runtime = jobs.runtime[job * jobs.width + k];
            const double weight = jobs.weight[job * jobs.width + k];
            expected.slope[job] += weight / std::max(runtime, kBound);
            expected.mean[job] += weight * runtime;
        }
    }
    return expected;
}

std::vector<std::int64_t> sampled_runtimes(const DistributionRows &jobs, std::int64_t num,
                                           std::int64_t seed, Span<const std::int64_t> elapsed,
                                           Span<const std::int64_t> otherwise) {
    const auto num_samples = static_cast<std::size_t>(num);
    std::vector<std::int64_t> sampled(num_samples * elapsed.size());
    std::vector<std::int64_t> part(num_samples);
    RandomNumbers random(seed);
    for (std::size_t job = 0; job < elapsed.size(); ++job) {
        const double *runtime = jobs.runtime + job * jobs.width;
        const double *weight = jobs.weight + job * jobs.width;
        const auto size = static_cast<std::size_t>(jobs.size[job]);
        shuffle(part, random);
        double mass = 0.0;
        for (std::size_t k = 0; k < size; ++k)
            if (static_cast<std::int64_t>(runtime[k]) > elapsed[job])
                mass += weight[k];
        for (std::size_t s = 0; s < num_samples; ++s) {
            const double within_part = static_cast<double>(random.next()) / 4294967296.0;
            double point = mass * (static_cast<double>(part[s]) + within_part);
            point /= static_cast<double>(num);
            std::int64_t seconds = std::max(otherwise[job], elapsed[job] + 1);
            for (std::size_t k = 0; k < size; ++k) {
                if (static_cast<std::int64_t>(runtime[k]) <= elapsed[job])
                    continue;
                seconds = static_cast<std::int64_t>(runtime[k]);
                point -= weight[k];
                if (point < 0)
                    break;
            }
            sampled[s * elapsed.size() + job] = seconds;
        }
    }
    return sampled;
}

} // namespace cpsched
