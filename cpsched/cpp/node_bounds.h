// Whether some choice of nodes holds a job within its bounds on the number of nodes.
//
// Cost: O(G) for G ranges of nodes, times the number of different numbers of fitting tasks for a
// job that may have fewer nodes than tasks.
#pragma once

#include "node_ranges.h"
#include "nodes.h"

namespace cpsched {

/// What `shortage` returns of a job that fits.
inline constexpr std::int64_t kFits = -1;

/// Say whether some choice of nodes_min to nodes_max nodes holds a job's tasks.
///
/// Fills `fitting` with the tasks that fit on a node of each range, no more than all; but for those
/// in order behind the first ones that are enough. Returns kFits, or how many tasks would fit (kFar
/// where tasks are not what is short); of a job of one node, how many would on the best one.
std::int64_t shortage(const Nodes &nodes, const Amount *free, const Ranges &ranges,
                      const Request &request, std::vector<std::int64_t> &fitting);

/// Say whether nodes with free capacity for all tasks together are enough, and not too many.
bool within_bounds(const Ranges &ranges, const std::vector<std::int64_t> &fitting,
                   const Request &request);

} // namespace cpsched
