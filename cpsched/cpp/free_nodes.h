// What is free on each node, as passes over the queue need it.
//
// In addition to the amounts themselves this keeps: contiguous ranges of equal nodes, totals by
// resource, and for request classes that are asked for how many tasks of them fit on all nodes
// together, with the number of nodes by how many fit on each. A change costs the number of ranges
// it changes, times the number of request classes that are kept up; a class that is not asked for
// in 64 passes is dropped. All of it follows from the amounts: with none of it every answer is the
// same, only slower.
#pragma once

#include "nodes.h"
#include "placement.h"
#include "ranged_amounts.h"

#include <array>

namespace cpsched {

/// On how many nodes 0, 1, 2, ... tasks of a request class fit.
class NodeCounts {
  public:
    /// Nodes with so many tasks or more are counted together.
    static constexpr std::int64_t kMostCounted = 129;

    void clear();
    /// Count so many nodes more, or less, on each of which `tasks` fit.
    void add(std::int64_t tasks, std::int64_t num_nodes);
    std::int64_t with(std::int64_t tasks) const { return counts_[static_cast<std::size_t>(tasks)]; }
    bool has_many() const { return counts_.back() > 0; }
    /// Say whether so many tasks fit on some `num_nodes` of the nodes, none of which has many.
    bool fit(std::int64_t num_nodes, std::int64_t tasks) const;

  private:
    std::array<std::int64_t, kMostCounted + 1> counts_ = {};
    std::int64_t most_ = 0; // no node has more
};

class FreeNodes {
  public:
    /// Begin with nothing taken. `nodes` must outlive this; what it points to may be replaced, see
    /// `masks_changed` and `requests_changed`.
    explicit FreeNodes(const Nodes &nodes);

    /// Begin a pass: drop request classes that have not been asked for in a while.
    void begin_pass();
    /// The number of the present pass.
    std::int64_t pass() const { return pass_; }
    /// Take over what is free from an array of shape (N, R), at the cost of what differs.
    void follow(const Amount *free);
    /// Let ranges begin where other request classes or masks say that nodes differ.
    ///
    /// To be called when masks of eligible nodes have changed or new ones have come; `same_fits`
    /// says that the masks there were before are as they were; there are `num_masks` now.
    void masks_changed(bool same_fits, std::int64_t num_masks);
    /// Forget how many tasks of each request class fit.
    void forget_fits();
    /// Take note of request classes that have come.
    void requests_changed();

    /// What each node of a range has left of each resource; `first` is the first of them.
    const Amount *of_range(std::int64_t first) const { return free_.of_range(first); }
    /// What all nodes together have left of each resource, where they are summed.
    const std::vector<Amount> &totals() const { return totals_; }
    /// Whether sums over all nodes stay within 64 bits, so that totals may be trusted.
    bool are_summed() const { return summed_; }
    const RangeStarts &range_starts() const { return free_.starts(); }

    /// Say whether all nodes together have what the tasks of a job need; `totals` may be others'.
    bool enough_in_all(Span<const Amount> totals, const Request &request) const;
    /// Say whether too little is free in all for any job.
    bool is_full() const { return summed_ && totals_[0] < least_task_; }
    /// Return how many tasks of a request class fit on all nodes, and keep that up from now on.
    std::int64_t num_fitting(std::int64_t request_id);
    /// The same if it is kept up already, else -1.
    std::int64_t known_fitting(std::int64_t request_id) const {
        return fits_[static_cast<std::size_t>(request_id)].tasks;
    }
    /// Return on how many nodes so many tasks of a class fit; nullptr where the class is not kept
    /// up, or too many are to count nodes for all.
    const NodeCounts *counts(std::int64_t request_id) const;
    /// Say whether the tasks of a job fit on all nodes together, whatever its bounds.
    bool holds_tasks(const Request &request);
    /// Say whether a job may fit now: never false if it does.
    ///
    /// Exact but for even splits and jobs whose nodes must go together, and for nodes that hold
    /// many tasks.
    bool may_fit(const Request &request);
    /// Say whether a job may use as many nodes as its tasks could.
    bool is_unbounded(const Request &request) const {
        return request.nodes_min == 1 &&
               request.nodes_max >= std::min(nodes_.num_nodes, request.tasks);
    }
    /// Say whether a job whose tasks fit on all nodes together may keep its bounds on nodes that
    /// are counted so (nullptr: unknown).
    bool within_counts(const Request &request, const NodeCounts *counts) const;

    /// Take the amounts of a placement off.
    void take(const RequestClass &what, const Placement &placement);
    /// Give them back.
    void give_back(const RequestClass &what, const Placement &placement);
    /// Give back so much (of each resource) on each of `count` neighbouring nodes of equal
    /// capacity.
    void give_back(std::int64_t first, std::int64_t count, const Amount *amounts);

    /// Return the ranges that hold a task of a request class or more, and what each has free.
    void ranges_with_room(const RequestClass &what, Ranges &ranges,
                          std::vector<Amount> &free) const;

    const Nodes &nodes() const { return nodes_; }

  private:
    /// What is kept up of a request class.
    struct Fit {
        /// How many tasks fit on all nodes; -1: not kept up.
        std::int64_t tasks = -1;
        /// The pass in which that was asked for last.
        std::int64_t asked_in = 0;
        /// Where its nodes are counted by how many tasks fit on each; kNoCounts: nowhere.
        std::size_t counts = kNoCounts;
    };
    static constexpr std::size_t kNoCounts = static_cast<std::size_t>(-1);
    /// Request classes whose nodes are counted.
    static constexpr std::size_t kClassesCounted = 64;
    /// Passes after which a class that is not asked for is dropped.
    static constexpr std::int64_t kPassesKept = 64;

    Fit &fit_of(std::int64_t request_id) { return fits_[static_cast<std::size_t>(request_id)]; }
    /// Begin to keep up how many tasks of a request class fit.
    void keep_up(std::int64_t request_id);
    void drop(Fit &fit);
    /// Do as `follow` on a range, [first, end).
    void follow_range(const Amount *free, std::int64_t first, std::int64_t end);
    /// Give back, or with -1 take off, what a placement takes.
    void change(const RequestClass &what, const Placement &placement, int sign);
    /// Add `change_` on the nodes [first, end), which may be of several ranges.
    void add(std::int64_t first, std::int64_t end);
    /// Count the fits on so many nodes of a range anew; negative before a change.
    void count_fits(std::int64_t first, std::int64_t num_nodes);

    const Nodes &nodes_;
    RangeStarts apart_; // nodes that differ whatever is free: by capacity or eligibility
    RangedAmounts free_;
    std::vector<Amount> totals_;
    bool summed_ = true;
    Amount least_task_ = 0; // the least of the first resource that a task of any class needs
    std::int64_t pass_ = 0;
    std::vector<Fit> fits_;             // by request class
    std::vector<std::int64_t> kept_up_; // the request classes whose fits are kept up
    std::vector<NodeCounts> counts_;
    std::vector<std::size_t> unused_counts_; // of the places in `counts_`
    std::vector<Amount> change_;             // scratch of `add`: so much on each node, shape (R,)
};

} // namespace cpsched
