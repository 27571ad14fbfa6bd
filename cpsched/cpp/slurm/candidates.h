// The jobs that a backfill pass looks at, and which of them may still start.
//
// A pass only takes nodes and counts up: what may not start now may not later in it, either. So it
// is over as soon as no job that is left may start. Where planned starts are of no interest, jobs
// behind too many of their user are out, too, and bounds on the number of nodes count.
//
// Cost: O(G) for each request class in the beginning, and for each job that is asked for later. The
// limits of a job are looked at when they are asked for, once after each start.
#pragma once

#include "../availability.h"
#include "pass_counts.h"
#include "pass_input.h"

namespace cpsched::slurm {

class Candidates {
  public:
    /// All must outlive this; `profile` is free capacity over time.
    Candidates(PassInput &input, const Availability &profile, PassCounts &counts)
        : input_(input), profile_(profile), counts_(counts) {}

    /// Note which jobs could start now if none of the others did; the profile is what is free now.
    ///
    /// Jobs behind the last of these are left out.
    void begin(std::vector<std::size_t> jobs);
    void clear() { jobs_.clear(); }

    std::size_t size() const { return jobs_.size(); }
    std::size_t operator[](std::size_t place) const { return jobs_[place]; }
    const std::vector<std::size_t> &jobs() const { return jobs_; }
    /// Return the limit that a job is over, -1 if it is over none.
    std::int64_t exceeded(std::size_t place);

    /// Look anew at the limits of all jobs from a place on: another job has started.
    void look_anew(std::size_t first);
    /// Return the end of the jobs from a place to another that may be the next to start.
    std::size_t end_of_startable(std::size_t first, std::size_t end);

  private:
    /// Tasks and duration of a request that do not fit now.
    struct TooMuch {
        std::int64_t tasks = kFar;
        Time duration = kFar;
    };

    /// What is known of a request class in this pass.
    struct Known {
        std::int64_t fitting = -1; // tasks that fit in the beginning, -1: not known
        TooMuch of_many;
        TooMuch of_one; // of jobs of one node
    };
    /// The limit that a job is over, and the look (look_anew) that found it.
    struct Exceeded {
        std::int64_t counter;
        int look;
    };

    void forget_requests();
    void find_limited();
    std::int64_t &ahead_of(std::int64_t user);
    void bar_by_user(std::size_t first);
    bool may_start_now(std::size_t number);
    /// Return how many tasks of a job, `most` on each node, fit on all nodes together; `enough` or
    /// more if more do.
    std::int64_t num_fitting(const Amount *free, const Request &request, std::int64_t most,
                             std::int64_t enough) const;

    PassInput &input_;
    const Availability &profile_;
    PassCounts &counts_;
    std::vector<std::size_t> jobs_; // records, in order
    std::vector<char> fits_;
    std::vector<Exceeded> exceeded_;
    int look_ = 0;
    std::vector<char> is_barred_;
    std::vector<std::size_t> limited_; // places of jobs whose user has more than a pass considers
    std::vector<Known> known_;         // by request class
    std::vector<std::size_t> seen_;    // the request classes of which something is known
    std::vector<std::int64_t> ahead_;  // jobs of each user
    std::vector<Amount> least_;
    std::vector<std::int64_t> fitting_;
};

} // namespace cpsched::slurm
