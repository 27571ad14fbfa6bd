// Which segments of nodes a job uses.
//
// A segment is so many nodes of one group of the topology's lowest level. For a job that asks for
// no segments but must keep to few groups, each node is a segment.
//
// Cost: O(N log N) for N nodes; O(B K S^2) for the choice of S segments in at most K of B groups,
// dynamic programming by group.
#pragma once

#include "node_ranges.h"
#include "nodes.h"

namespace cpsched {

class SegmentChoice {
  public:
    enum class Preference {
        /// As few segments as hold the job, as they fill up in the order given.
        kInOrder,
        /// The segments that hold most, on the nodes of each group that hold most and in as few
        /// groups as the job may use. If these do not hold the job, none do.
        kMostTasks,
    };

    explicit SegmentChoice(const Nodes &nodes) : nodes_(nodes) {}

    /// Choose segments for a job; return how many nodes they have, 0 where the job does not fit so.
    ///
    /// `order` has the usable ranges of nodes in an allocator's order; those used are left in it.
    /// Fills `used` with how many nodes of each of them are used.
    std::int64_t choose(Preference preference, const Ranges &ranges, const Request &request,
                        const std::vector<std::int64_t> &fitting, std::vector<std::int64_t> &order,
                        std::vector<std::int64_t> &used);

  private:
    /// A segment of free nodes: its group of the lowest level, and how many tasks it holds.
    struct Segment {
        std::int64_t group;
        std::int64_t tasks;
    };
    /// How many segments a job may use, and how many tasks they must hold.
    struct Bounds {
        std::int64_t least;
        std::int64_t most;
        std::int64_t tasks;
    };

    void find_segments(const Ranges &ranges, const std::vector<std::int64_t> &fitting,
                       const std::vector<std::int64_t> &order, std::int64_t segment);
    void choose_first(const Bounds &bounds);
    void choose_in_few_groups(const Bounds &bounds, std::int64_t max_groups);
    /// Note what the best segments of a group hold, 0 of them, 1, ...; return how many it has.
    std::int64_t sum_up(std::int64_t group, std::int64_t most);
    std::int64_t use_chosen(const Ranges &ranges, std::int64_t segment,
                            std::vector<std::int64_t> &order, std::vector<std::int64_t> &used);

    const Nodes &nodes_;
    std::int64_t num_groups_ = 0;
    /// The segments as they fill up; and how many are chosen in each group.
    std::vector<Segment> segments_;
    std::vector<std::int64_t> chosen_;
    /// Of each group, the nodes in the segment that fills up, and the tasks these hold.
    std::vector<std::int64_t> filled_nodes_;
    std::vector<std::int64_t> filled_tasks_;
    /// What 0, 1, 2, ... segments of one group hold.
    std::vector<std::int64_t> held_;
    /// The most tasks in so many groups and segments, and how many of these a group then has.
    std::vector<std::int64_t> best_;
    std::vector<std::int64_t> from_group_;
};

} // namespace cpsched
