// On which nodes Slurm puts a job: the best-fitting nodes next to each other, or under the lowest
// switch.
//
// After Slurm's pages "Consumable Resources" and "Topology Guide", and the code of
// select/cons_tres: the smallest part of the usable nodes that holds a job, else the largest first;
// nodes of a low weight go before others. A job that would get too few tasks on its nodes is tried
// without the nodes that hold the fewest. Segments and limits of switches are as for any allocator.
//
// Cost: that of one topology order of G ranges (topology_order.h), times the numbers of fitting
// tasks that are tried.
#pragma once

#include "../placement.h"

namespace cpsched::slurm {

class NodeChoice {
  public:
    /// `allocator` is kLowestSwitch, or kContiguous where nodes are a line. If `tightest_node`, a
    /// job that one node of the best part holds gets the one where the fewest tasks fit.
    NodeChoice(Allocator allocator, const Nodes &nodes, bool tightest_node);

    /// Place a job; says whether it fits. `free` is what each node of each range has left.
    bool place(const Amount *free, const Ranges &ranges, const Request &request, Pieces &pieces);

  private:
    /// Note how many tasks a node of each range holds, and which ranges hold any.
    void note_fitting(const Amount *free, const Ranges &ranges, const Request &request);
    /// Fill `order_` with the ranges whose nodes hold so many tasks or more, in order of nodes.
    void find_usable(const std::vector<std::int64_t> &fitting, std::int64_t least);
    bool place_in_any_way(const Ranges &ranges, const Request &request, Pieces &pieces);
    bool place_consecutive(const Ranges &ranges, const Request &request, Pieces &pieces);
    bool split_evenly(const Ranges &ranges, const Request &request, Pieces &pieces);
    /// Put the range whose nodes hold the fewest tasks, but enough, before the first ones.
    void put_tightest_first(const Request &request, std::size_t num_needed);

    const Nodes &nodes_;
    TopologyOrder::Preference preference_;
    bool tightest_node_;
    Placer placer_;
    TopologyOrder topology_;
    Filling filling_;
    ConsecutiveNodes consecutive_;
    std::vector<std::int64_t> fitting_; // tasks on a node of each range
    std::vector<std::int64_t> share_;
    std::vector<std::int64_t> order_;
    std::vector<std::int64_t> usable_; // ranges that hold a task or more, in order of nodes
    std::vector<Part> parts_;
};

} // namespace cpsched::slurm
