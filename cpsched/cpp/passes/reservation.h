// The first second at which a job can be placed on nodes, and that placement.
//
// Jobs end one after another, those that run and those that the pass has started, and at each such
// second the job is tried on what is free then. EASY's reservation is that (Lifka 1995; Mu'alem and
// Feitelson 2001, whose shadow time it is on a pool of one resource).
//
// Cost: most often a few jobs have to end, so only the first 16 are looked at first, and eight
// times as many where they are not enough. An end counts the tasks that fit anew on what it frees
// alone; the allocator is asked only where all nodes together hold the job.
#pragma once

#include "../availability.h"

namespace cpsched {

class Reservation {
  public:
    /// Rows of the availability profile: what is free now, and at the second of the reservation.
    static constexpr std::size_t kNow = 0;
    static constexpr std::size_t kThen = 1;

    explicit Reservation(PassContext &context);

    /// Find the first second at which a job fits; says whether there is one.
    ///
    /// Where `prefers_busy` holds, the placement uses capacity that is busy now before what is
    /// free.
    bool find(const Request &request, bool prefers_busy);
    /// Do the same where the second is known already.
    bool find_at(Time second, const Request &request, bool prefers_busy);
    /// Take the placement that was found off what is free from its second on, and return it.
    const Placement &hold(const RequestClass &what);

    Time time() const { return time_; }
    /// What all nodes together have just before the second that `find` found.
    const std::vector<Amount> &total_before() const { return total_before_; }
    /// What that placement takes of each resource.
    const std::vector<Amount> &taken() const { return taken_; }
    Availability &availability() { return availability_; }
    const Availability &availability() const { return availability_; }
    const Amount *now() const { return availability_.level(kNow); }
    const Amount *then() const { return availability_.level(kThen); }

    /// Return how much more one row has than another on each range, nothing unless `counts`.
    const Amount *excess(std::size_t row, std::size_t other, bool counts);

  private:
    /// Begin with the ends of some running jobs, the first ones.
    void begin(std::size_t num_running);
    /// Place a job once the jobs have ended that do so by a second.
    bool place_at(Time second, const Request &request, bool prefers_busy);
    /// Do as `find`, with the ends of some running jobs, before a second.
    bool find_before(Time until, const Request &request, bool prefers_busy);
    Time end_of(Row running) const;
    Time end_of(const Starts::Start &start) const;
    /// Return when the next job ends after a second, kFar for never.
    Time next_end(Time after) const;
    /// Let the jobs end that do so after a second and until another.
    void end_jobs(Time after, Time until);
    /// Say whether all nodes together hold a job's tasks once the jobs have ended.
    bool enough_in_all(const Request &request);
    /// Count the tasks that fit on all ranges, or on those that ended jobs have held.
    void count_all(const Request &request);
    void count_ended(const Request &request);
    /// Count the tasks that fit on a range anew; of a job of one node, less than all is nothing.
    void count_range(const Request &request, std::int64_t range);

    PassContext &context_;
    Availability availability_;
    Time time_ = 0;
    Span<const Row> running_;           // those whose ends are looked at
    std::size_t ended_ = 0;             // so many of them have ended
    std::size_t counted_until_ = 0;     // the ends of so many are counted in `fitting_`
    std::vector<std::int64_t> fitting_; // tasks that fit on a node of each range
    std::int64_t total_ = 0;            // and on all nodes; -1: not counted yet
    NodeCounts counts_;                 // of `fitting_`
    std::vector<Amount> excess_;
    std::vector<Amount> total_before_;
    std::vector<Amount> taken_;
    Pieces pieces_;
    Placement placement_;
};

} // namespace cpsched
