// Where the tasks of a job go, by ranges of nodes.
#pragma once

#include "node_ranges.h"

namespace cpsched {

/// So many nodes of a range, with the same number of tasks on each.
///
/// The nodes of a piece follow each other from the first node of its range on, after those of the
/// previous piece if that is of the same range. A piece without tasks skips nodes.
struct Piece {
    std::int64_t range;
    std::int64_t nodes;
    std::int64_t tasks;
};
using Pieces = std::vector<Piece>;

/// Turn pieces into spans of nodes in order of nodes, neighbouring equal ones as one.
void spans_of(const Pieces &pieces, const Ranges &ranges, Placement &placement);

/// Collect pieces from the tasks on each of the nodes of some ranges, one range after another.
///
/// Nodes of a range without tasks come in only before others of the range that have some.
void pieces_of(const std::vector<std::int64_t> &tasks_on, const std::vector<std::int64_t> &size,
               const std::vector<std::int64_t> &order, Pieces &pieces);

} // namespace cpsched
