// Native observers: what starts where, and what decisions cost.
#pragma once

#include "simulation.h"

#include <functional>
#include <tuple>
#include <utility>

namespace cpsched {

/// Writes down every allocation as contiguous ranges of nodes with the same tasks and amounts.
///
/// A row has the job, its start, the first node, the number of nodes, the tasks on each, and R
/// amounts on each. The memory is the caller's.
class AllocationRecorder : public NativeObserver {
  public:
    /// `grow` is given the number of rows that are needed, and returns memory for as many or more
    /// that begins with the rows so far, and for how many it is.
    using Grow = std::function<std::pair<std::int64_t *, std::int64_t>(std::int64_t needed)>;

    AllocationRecorder(int num_resources, Grow grow)
        : num_resources_(num_resources), grow_(std::move(grow)) {}

    void on_start(Row row, const AllocationRanges &allocation, Time now) override;
    void on_decision(double /*seconds*/, std::int64_t /*num_starts*/) override {}

    std::int64_t used = 0;

  private:
    int num_resources_;
    Grow grow_;
    std::int64_t *rows_ = nullptr;
    std::int64_t size_ = 0;
};

/// Keeps how long each decision took, and counts the jobs that start.
class DecisionRecorder : public NativeObserver {
  public:
    void on_start(Row /*row*/, const AllocationRanges & /*allocation*/, Time /*now*/) override {}
    void on_decision(double duration, std::int64_t num_starts) override {
        seconds.push_back(duration);
        starts += num_starts;
    }

    std::vector<double> seconds;
    std::int64_t starts = 0;
};

} // namespace cpsched
