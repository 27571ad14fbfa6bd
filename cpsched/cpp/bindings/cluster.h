// The Python class of a cluster's state.
#pragma once

#include "arrays.h"

#include "../cluster.h"

namespace cpsched {

/// A cluster, and the Python objects that own the tables it works on.
class PythonCluster : public Cluster {
  public:
    explicit PythonCluster(const Matrix &capacity);

    void look_at_jobs(const WritableMatrix &columns);
    void look_at_requests(const Matrix &requests);
    void look_at_eligible(const Masks &masks);
    /// What each node has left, read-only.
    nb::object free_nodes();
    /// The allocations of all running jobs: first nodes, numbers of nodes, tasks and amounts,
    /// read-only.
    nb::tuple allocations();

  private:
    WritableMatrix columns_;
    Matrix request_rows_;
    Masks masks_;
    nb::object free_;
    nb::object allocations_;
    const void *allocations_of_ = nullptr;
};

/// Contiguous ranges of the nodes of one job, which are given one by one.
class RangesOfNodes {
  public:
    RangesOfNodes(const Ints &node, const Ints &tasks, const Matrix &amount) {
        const std::size_t width = amount.shape(1);
        for (std::size_t k = 0; k < node.shape(0); ++k) {
            const Amount *amounts = amount.data() + k * width;
            // A range begins also where a number of nodes would be too large to be one.
            if (k > 0 && node.data()[k - 1] < kFar && node.data()[k] == node.data()[k - 1] + 1 &&
                tasks.data()[k] == tasks.data()[k - 1] &&
                std::equal(amounts, amounts + width, amounts - width)) {
                ++num_nodes_.back();
                continue;
            }
            first_.push_back(node.data()[k]);
            num_nodes_.push_back(1);
            tasks_.push_back(tasks.data()[k]);
            amount_.insert(amount_.end(), amounts, amounts + width);
        }
    }
    AllocationRanges ranges() const {
        return {first_.data(), num_nodes_.data(), tasks_.data(), amount_.data(),
                static_cast<std::int64_t>(first_.size())};
    }

  private:
    std::vector<std::int64_t> first_;
    std::vector<std::int64_t> num_nodes_;
    std::vector<std::int64_t> tasks_;
    std::vector<Amount> amount_;
};

void bind_cluster(const nb::module_ &module);
void bind_simulation(const nb::module_ &module);

} // namespace cpsched
