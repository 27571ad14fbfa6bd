// The tasks of a job on each node, given an order of ranges of nodes and what fits on each.
//
// A node is passed over only if with it the job would no longer fit within its bounds on the number
// of nodes, so a job is placed whenever any choice of nodes can hold it.
//
// Throughout, `fitting` is how many tasks each node of a range holds, by range, and `order` has the
// ranges that hold one or more, the preferred first. Each function fills `pieces` and says whether
// the job fits; there are none if it does not.
//
// Cost: O(G) for G ranges of nodes; an even split tries each number of nodes that divides the
// tasks.
#pragma once

#include "lookahead.h"
#include "node_bounds.h"
#include "piece.h"

namespace cpsched {

/// Return how many of `nodes` in a row that hold `fitting` get `tasks`, as the first of them does.
///
/// `left` tasks are to be placed, one or more of them on each of `owed` nodes behind the first.
std::int64_t num_alike(std::int64_t tasks, std::int64_t fitting, std::int64_t nodes,
                       std::int64_t left, std::int64_t owed);

/// Fill nodes in order, leaving a task for each node still owed.
bool fill_greedily(const std::vector<std::int64_t> &size, const Request &request,
                   const std::vector<std::int64_t> &fitting, const std::vector<std::int64_t> &order,
                   Pieces &pieces);

/// Put the same number of tasks on each of as few nodes as the bounds allow.
bool split_evenly(const std::vector<std::int64_t> &size, const Request &request,
                  const std::vector<std::int64_t> &fitting, const std::vector<std::int64_t> &order,
                  Pieces &pieces);

/// Fillings of jobs whose tasks may be distributed in any way.
class Filling {
  public:
    /// Fill nodes greedily, else with regard to those behind.
    bool fill_in_any_way(const Ranges &ranges, const Request &request,
                         const std::vector<std::int64_t> &fitting,
                         const std::vector<std::int64_t> &order, Pieces &pieces);
    /// Take each node in order if the best nodes behind it can still hold the rest.
    bool fill_with_lookahead(const std::vector<std::int64_t> &size, const Request &request,
                             const std::vector<std::int64_t> &fitting,
                             const std::vector<std::int64_t> &order, Pieces &pieces);
    /// Fill the preferred part of each node in order, which holds `inside` tasks; then the rest.
    bool fill_preferring(const std::vector<std::int64_t> &size, const Request &request,
                         const std::vector<std::int64_t> &fitting,
                         const std::vector<std::int64_t> &inside,
                         const std::vector<std::int64_t> &order, Pieces &pieces);

  private:
    LookAhead look_ahead_;
    std::vector<std::int64_t> fitting_on_node_;
    std::vector<std::int64_t> tasks_on_node_;
    std::vector<std::int64_t> with_inside_;
};

} // namespace cpsched
