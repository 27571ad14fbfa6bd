// The allocators' orders of nodes.
//
// The node with the fewest tasks of a request class that fit, the busiest or the idlest one, the
// one with the fewest scarce resources that a job does not ask for, or those that the topology
// keeps together. The allocator `fgd` goes by what other jobs lose: fragmentation gradient descent
// (Weng et al. 2023, "Beware of Fragmentation", USENIX ATC), which weighs the typical requests of
// past jobs by their frequency alone; here the weight of each wanted request class is divided by
// one more than how often it fits on all nodes.
//
// Cost: O(G log G) for G ranges of nodes, O(G) for first-fit; O(G W) more for fgd with W wanted
// request classes.
#pragma once

#include "topology_order.h"

namespace cpsched {

/// The orders of nodes; the numbers are those of the classes in cpsched/dispatch/allocators.py.
enum class Allocator : std::int64_t {
    kFirstFit = 0,
    kBestFit = 1,
    kPack = 2,
    kBalanced = 3,
    kSpareScarce = 4,
    kLowestSwitch = 5,
    kFewestGroups = 6,
    kContiguous = 7,
    kFgd = 8,
};

/// Whether an allocator uses the topology.
inline bool keeps_together(Allocator allocator) {
    return Allocator::kLowestSwitch <= allocator && allocator <= Allocator::kContiguous;
}

class NodeOrder {
  public:
    NodeOrder(Allocator allocator, const Nodes &nodes)
        : allocator_(allocator), nodes_(nodes), topology_(nodes) {}

    /// Put the ranges that hold a task of a job or more on a node in the allocator's order.
    ///
    /// `free` is what each node of range g has left, at [g * R, (g + 1) * R). Fills `fitting` with
    /// how many tasks each node of a range holds.
    void find(const Amount *free, const Ranges &ranges, const Request &request,
              std::vector<std::int64_t> &fitting, std::vector<std::int64_t> &order);

    Allocator allocator() const { return allocator_; }

  private:
    /// A range of nodes with what it is sorted by, the least first.
    struct Sorted {
        double key;
        std::int64_t range;
    };

    /// Return what nodes are sorted by that go by their own free capacity.
    double key_of(const Amount *free, std::int64_t node, const RequestClass &what) const;
    /// Return what it counts against a node that it has more of a resource than a task needs.
    double waste(Amount asked, Amount least, Amount capacity, Amount free) const;
    /// Note by how many tasks each range would be filled, and what its nodes have left then.
    void fill_each(const Amount *free, const Ranges &ranges, const Request &request,
                   const std::vector<std::int64_t> &fitting,
                   const std::vector<std::int64_t> &order);
    /// Note what is lost of a wanted request class; return what one more of it weighs.
    double add_loss(const WantedRequest &wanted, const Amount *free, const Ranges &ranges,
                    const std::vector<std::int64_t> &order);
    void find_losses(const Amount *free, const Ranges &ranges, const Request &request,
                     const std::vector<std::int64_t> &fitting,
                     const std::vector<std::int64_t> &order);

    Allocator allocator_;
    const Nodes &nodes_;
    TopologyOrder topology_;
    std::vector<Sorted> sorted_;
    // Of the usable ranges, in order of nodes, for fgd: what it sorts by; how many tasks a node
    // would get, what the node has left then, and by how much the sum of its free shares squared
    // falls; and how often a wanted request class fits on the node.
    std::vector<double> loss_;
    std::vector<double> takes_;
    std::vector<Amount> after_;
    std::vector<double> spread_;
    std::vector<std::int64_t> times_;
};

} // namespace cpsched
