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
    /// The allocations of all running jobs: nodes, tasks and amounts, read-only.
    nb::tuple allocations();

  private:
    WritableMatrix columns_;
    Matrix request_rows_;
    Masks masks_;
    nb::object allocations_;
    const void *allocations_of_ = nullptr;
};

void bind_cluster(const nb::module_ &module);
void bind_simulation(const nb::module_ &module);

} // namespace cpsched
