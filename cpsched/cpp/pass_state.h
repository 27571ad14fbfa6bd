// What passes over the queue of one system work on, with the arrays it points to.
#pragma once

#include "pass.h"

namespace cpsched {

/// What the passes of one allocator remember between decisions; a cache, and no state.
class PassState {
  public:
    /// capacity (N, R) and levels (L, N) of the topology, in order of nodes.
    PassState(Allocator allocator, std::vector<Amount> capacity, int num_resources,
              std::vector<std::int64_t> levels);
    // Its parts point to each other.
    PassState(const PassState &) = delete;
    PassState &operator=(const PassState &) = delete;
    PassState(PassState &&) = delete;
    PassState &operator=(PassState &&) = delete;
    ~PassState() = default;

  private:
    // Before `nodes`, which points to them.
    std::vector<Amount> capacity_;
    std::vector<std::int64_t> levels_;
    std::vector<Amount> least_capacity_;

  public:
    Nodes nodes;
    FreeNodes free;
    JobClasses classes;
    Placer placer;
    PassContext context;
};

} // namespace cpsched
