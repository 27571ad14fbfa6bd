// Placement of a job: an allocator's order of the nodes, and the tasks on each.
//
// An allocator is an order of nodes. Tasks are put on nodes in that order, and a node is passed
// over only if with it the job would no longer fit within its bounds on the number of nodes, so no
// allocator refuses a job that any choice of nodes can hold. Jobs that need consecutive nodes
// ignore the order: all allocators give them the shortest range, the first one in node order. A job
// with a limit of switches gets the fewest groups of the topology's lowest level.
//
// Cost: O(G log G) for G ranges of nodes (O(G) for first-fit); O(N log N) for a job with bounds on
// its number of nodes that a greedy choice does not keep.
#pragma once

#include "consecutive.h"
#include "filling.h"
#include "node_bounds.h"
#include "node_order.h"
#include "piece.h"
#include "segments.h"

namespace cpsched {

/// Places jobs by one allocator; keeps the arrays it works on, so that a call allocates little.
///
/// `free` is what each node of range g has left, at [g * R, (g + 1) * R).
class Placer {
  public:
    Placer(Allocator allocator, const Nodes &nodes)
        : nodes_(nodes), node_order_(allocator, nodes), topology_(nodes), segments_(nodes) {}

    /// Place a job; fills `pieces` and says whether it fits.
    bool place(const Amount *free, const Ranges &ranges, const Request &request, Pieces &pieces);

    /// Place a job, using up `preferred`, a part of what is free, first.
    ///
    /// A reservation uses busy capacity before free capacity, and a backfilled job that ends in
    /// time uses reserved capacity first: both leave the most for others. A job whose tasks may be
    /// on any nodes fills that part of each node, in the allocator's order, then the rest. Any
    /// other job first uses the nodes where that part holds a task of it. For one-core tasks this
    /// makes any layout of nodes equal to one pool of cores. A job placed compactly, because of its
    /// request or the allocator, is placed as by `place`.
    bool place_preferring(const Amount *free, const Amount *preferred, const Ranges &ranges,
                          const Request &request, Pieces &pieces);

    /// Put a job's tasks on ranges in a given order of preference; `fitting` is how many tasks each
    /// of their nodes holds, `order` has the ranges that hold one or more.
    bool fill_in_order(const Ranges &ranges, const Request &request,
                       const std::vector<std::int64_t> &fitting,
                       const std::vector<std::int64_t> &order, bool even, bool contiguous,
                       Pieces &pieces);

    Allocator allocator() const { return node_order_.allocator(); }
    const Nodes &nodes() const { return nodes_; }

  private:
    /// Place a job that must keep to segments or few groups, on the ranges in order.
    bool place_confined(const Ranges &ranges, const Request &request, Pieces &pieces);
    bool split_confined(const Ranges &ranges, const Request &request, Pieces &pieces);
    bool fill_confined(const Ranges &ranges, const Request &request,
                       const std::vector<std::int64_t> &fitting,
                       const std::vector<std::int64_t> &order, Pieces &pieces);
    /// Put the ranges of the fewest groups that hold a job in order; none if they are too many.
    void order_by_groups(const Ranges &ranges, const Request &request,
                         const std::vector<std::int64_t> &fitting,
                         std::vector<std::int64_t> &order);
    /// Put the ranges where a task of the job fits into `preferred` before the others.
    void put_inside_first();
    /// Whether a job's tasks may be distributed in any way, and take only their own amounts.
    bool may_spread(const Request &request) const;

    const Nodes &nodes_;
    NodeOrder node_order_;
    TopologyOrder topology_;
    SegmentChoice segments_;
    ConsecutiveNodes consecutive_;
    Filling filling_;
    /// How many tasks fit on each node of a range; how many of these in the preferred part.
    std::vector<std::int64_t> fitting_;
    std::vector<std::int64_t> inside_;
    /// Usable ranges in the allocator's order; the others in another order.
    std::vector<std::int64_t> order_;
    std::vector<std::int64_t> reordered_;
    std::vector<std::int64_t> with_share_;
    /// Of an even split: 1 where a node holds its share; and nodes used of each range.
    std::vector<std::int64_t> share_;
    std::vector<std::int64_t> used_;
};

} // namespace cpsched
