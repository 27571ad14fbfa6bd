// Placement of jobs whose nodes follow each other: the shortest range of nodes, the first one.
//
// Cost: O(N) for N nodes, for each number of nodes that is tried: one for a job whose tasks may be
// distributed in any way.
#pragma once

#include "nodes.h"
#include "piece.h"

namespace cpsched {

class ConsecutiveNodes {
  public:
    /// Use the shortest, then first consecutive nodes that hold a job; all are used.
    bool place(std::int64_t num_nodes, const Ranges &ranges, const Request &request,
               const std::vector<std::int64_t> &fitting, bool even, Pieces &pieces);
    /// Do the same for a job with segments or a limit of switches.
    bool place_confined(const Nodes &nodes, const Ranges &ranges, const Request &request,
                        const std::vector<std::int64_t> &fitting, bool even, Pieces &pieces);

  private:
    void note_fitting(std::int64_t num_nodes, const Ranges &ranges,
                      const std::vector<std::int64_t> &fitting, std::int64_t most);
    bool take_evenly(std::int64_t most_nodes, const Request &request);
    bool take_in_any_way(std::int64_t most_nodes, const Request &request);
    bool take_confined(const Nodes &nodes, std::int64_t count, const Request &request, bool even);
    /// Fill nodes [begin, begin + count) in order, with a task or more on each.
    void fill(std::int64_t begin, std::int64_t count, std::int64_t tasks);
    void collect(const Ranges &ranges, Pieces &pieces);

    /// Tasks that fit on each node, and that the job has there.
    std::vector<std::int64_t> fitting_;
    std::vector<std::int64_t> tasks_on_;
    std::vector<std::int64_t> in_order_;
};

} // namespace cpsched
