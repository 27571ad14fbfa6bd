#include "piece.h"

#include <algorithm>

namespace cpsched {

namespace {

bool is_before(const NodeSpan &span, const NodeSpan &other) {
    return span.first < other.first;
}

/// Make one span of neighbouring equal ones; they are in order of nodes.
void join_equal(Placement &placement) {
    std::size_t count = 0;
    for (const NodeSpan &span : placement) {
        NodeSpan *last = count > 0 ? &placement[count - 1] : nullptr;
        if (last != nullptr && last->first + last->count == span.first && last->tasks == span.tasks)
            last->count += span.count;
        else
            placement[count++] = span;
    }
    placement.resize(count);
}

} // namespace

void spans_of(const Pieces &pieces, const Ranges &ranges, Placement &placement) {
    placement.clear();
    std::int64_t range = -1;
    std::int64_t node = 0;
    for (const Piece &piece : pieces) {
        if (piece.range != range)
            node = ranges.first[piece.range];
        range = piece.range;
        if (piece.tasks > 0)
            placement.push_back({node, piece.nodes, piece.tasks});
        node += piece.nodes;
    }
    if (!std::is_sorted(placement.begin(), placement.end(), is_before))
        std::sort(placement.begin(), placement.end(), is_before);
    join_equal(placement);
}

void pieces_of(const std::vector<std::int64_t> &tasks_on, const std::vector<std::int64_t> &size,
               const std::vector<std::int64_t> &order, Pieces &pieces) {
    pieces.clear();
    std::size_t at = 0;
    for (const std::int64_t range : order) {
        std::int64_t skipped = 0;
        bool is_first = true;
        for (std::int64_t i = 0; i < size[range]; ++i, ++at) {
            if (tasks_on[at] == 0) {
                ++skipped;
                continue;
            }
            if (skipped > 0) {
                pieces.push_back({range, skipped, 0});
                is_first = false;
                skipped = 0;
            }
            if (!is_first && pieces.back().tasks == tasks_on[at])
                ++pieces.back().nodes;
            else
                pieces.push_back({range, 1, tasks_on[at]});
            is_first = false;
        }
    }
}

} // namespace cpsched
