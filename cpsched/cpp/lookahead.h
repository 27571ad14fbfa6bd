// Tasks on nodes in an order of preference, for a job with bounds on its number of nodes.
//
// Each node is taken in order if the best nodes behind it can still hold the rest. That is the
// first placement in order of preference among all that keep the bounds. Of equal nodes none is
// skipped before one that is taken, nor gets less.
//
// Cost: O(N log N) for N nodes.
#pragma once

#include "request.h"

namespace cpsched {

class LookAhead {
  public:
    /// Put a job's tasks on nodes; `fitting` is how many each holds, in order of preference.
    ///
    /// Says whether the job fits; `tasks_on` then has the tasks on each node.
    bool fill(const std::vector<std::int64_t> &fitting, const Request &request,
              std::vector<std::int64_t> &tasks_on);

  private:
    /// The nodes behind the present one that may be used, those that hold most: all that are behind
    /// up to a place in the order of what they hold.
    struct Best {
        std::int64_t last_place;
        std::int64_t nodes;
        std::int64_t tasks;
    };

    void sort_by_fitting(const std::vector<std::int64_t> &fitting);
    Best first_best(const std::vector<std::int64_t> &fitting, std::int64_t nodes_max) const;
    /// Put the next node behind, if any, in the stead of one among the best.
    void replace(Best &best, std::int64_t node, const std::vector<std::int64_t> &fitting) const;
    /// Return the best with one node less, the one that holds least.
    Best without_last(const Best &best, const std::vector<std::int64_t> &fitting) const;

    /// The nodes, those that hold most first; and the place of each among them.
    std::vector<std::int64_t> by_fitting_;
    std::vector<std::int64_t> place_;
    /// Whether the node at a place is behind the present one.
    std::vector<char> is_behind_;
};

} // namespace cpsched
