// Plans on the system as one pool: free capacity over time by resource, whatever the node.
//
// A relaxation of what nodes allow (exact where the system is one pool), whose cost does not grow
// with the number of nodes: O(S R) for a job that is planned on S segments with R resources.
#pragma once

#include "pass.h"

namespace cpsched {

/// Free capacity of the pool over time: segment i begins at time(i) and has level(i) free, the last
/// one never ends.
class PooledAvailability {
  public:
    /// Begin with one segment of what is free now, an amount for each resource.
    PooledAvailability(Time now, std::vector<Amount> free);
    /// Begin with given segments: levels of shape (S, R).
    PooledAvailability(Span<const Time> times, const Amount *levels, std::size_t num_resources);

    /// Begin anew with one segment of what is free now.
    void begin(Time now, const Amount *free);

    std::size_t num_segments() const { return times_.size(); }
    std::size_t num_resources() const { return num_resources_; }
    Time time(std::size_t segment) const { return times_[segment]; }
    const Amount *level(std::size_t segment) const {
        return levels_.data() + segment * num_resources_;
    }
    const std::vector<Time> &times() const { return times_; }
    /// What is free in all segments, shape (S, R).
    const std::vector<Amount> &levels() const { return levels_; }

    /// Let more be free from a second on, which is no earlier than the last segment's.
    void give_back(Time second, const Amount *amounts);
    /// Let a segment begin at a second, no earlier than that of a given segment; returns the first
    /// one that does not begin before it. Nothing is split before the first segment.
    std::size_t split_at(Time second, std::size_t from);
    /// Say whether there is a segment, a given one or later, from which on a job's needs are free
    /// for its duration; moves `segment` on to the first such one.
    bool find_window(std::size_t &segment, Time duration, const Amount *need) const;
    /// Return the first segment with a job's needs, `num_segments` for none; where nothing is
    /// planned, so that no segment has less than the one before it.
    std::size_t first_with(const Amount *need) const;
    /// Take a job's needs off from a segment until a second.
    void occupy(std::size_t segment, Time end, const Amount *need);

  private:
    bool has(std::size_t segment, const Amount *need) const;

    std::size_t num_resources_;
    std::vector<Time> times_;
    std::vector<Amount> levels_;
};

/// Return what each running job releases when it ends, shape (B, R).
std::vector<Amount> given_back(const Snapshot &now, int num_resources);

/// Return free capacity over time as running jobs end, each releasing its row of `back`, (B, R).
PooledAvailability pool_profile(const Snapshot &now, const Amount *back, std::vector<Amount> free);

/// Jobs to plan on a pool; n jobs.
struct PooledJobs {
    Span<const Time> duration;
    /// Amounts each takes, shape (n, R).
    const Amount *demand;
    /// Earliest start of each.
    Span<const Time> ready;
};

/// Give jobs, in some order of their positions, the first second from which on they fit after those
/// before them. Returns the planned start of each, -1 where it never fits.
std::vector<Time> list_plan(PooledAvailability pool, const PooledJobs &jobs,
                            Span<const std::int64_t> order);

} // namespace cpsched
