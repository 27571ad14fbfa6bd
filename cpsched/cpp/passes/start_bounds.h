// What is known of each request while a queue is planned.
//
// Planning only takes capacity away. So of two jobs that ask for the same, the one planned later
// that is as hard to place and at least as long can start no earlier; and where too few tasks
// fitted, they still do not. Jobs of one node have bounds of their own: what is short for them is
// what one node has.
#pragma once

#include "windows.h"

#include <array>

namespace cpsched {

class StartBounds {
  public:
    explicit StartBounds(const Nodes &nodes) : nodes_(nodes) {}

    /// Forget everything.
    void clear();
    /// Return a second, `now` or later, before which a job cannot start.
    Time earliest(const Request &request, Time now);
    /// Note when a job was planned: at a second, or no earlier than that.
    void note(const Request &request, Time start);
    /// Return how many tasks of a request fit at most, by row of the profile.
    ///
    /// What is true of a row is true of one that began as a copy of it.
    WindowSearch::MostFitting &most_fitting(const Request &request, const Availability &profile);

  private:
    struct Planned {
        std::int64_t tasks;
        Time duration;
        Time start;
        std::int64_t nodes_min;
        std::int64_t nodes_max;
        bool is_plain;
    };
    /// What is known of one request: the last jobs planned, each unless another says more.
    struct Known {
        static constexpr std::size_t kMostPlanned = 8;
        std::array<Planned, kMostPlanned> planned;
        std::size_t num_noted = 0;
        WindowSearch::MostFitting most_fitting;

        std::size_t num_planned() const { return std::min(num_noted, kMostPlanned); }
    };

    Known &of(const Request &request);
    /// Say whether fewer tasks are never harder to place; bounds and even splits can make it so.
    bool is_plain(const Request &request) const;

    const Nodes &nodes_;
    // By request class, and whether a job is of one node: its place in `known_`, -1 for none.
    std::vector<std::int64_t> place_of_;
    std::vector<std::size_t> numbers_; // those that have a place
    std::vector<Known> known_;
    std::size_t num_known_ = 0; // the others are kept for their arrays
};

} // namespace cpsched
