// The Python class that passes are called on.
#pragma once

#include "arrays.h"

#include "../pass_state.h"
#include "../passes/conservative.h"
#include "../passes/easy.h"
#include "../passes/list.h"

namespace cpsched {

/// What the passes of one allocator remember between decisions; a cache, and no state.
///
/// `look_at` points it to the arrays of a view; they are kept alive until the next call.
class PassMemory : public PassState {
  public:
    /// capacity (N, R); levels (L, N) of the topology; least_capacity (R,): what every node has.
    PassMemory(std::int64_t allocator, const Matrix &capacity, const Matrix &levels);

    /// Point to a view. `store` is the object that job rows belong to and `reordered` its count of
    /// changes: what is known of jobs is forgotten where either differs from the last view's.
    void look_at(nb::object store, const Matrix &columns, nb::object requests, nb::object eligible,
                 const Matrix &free, std::int64_t reordered);
    /// Point to its running jobs, too.
    void look_at_running(Time now, const Ints &running, const Ints &node, const Ints &count,
                         const Matrix &amount);

    /// Begin a pass over the view that `look_at` was given.
    PassContext &begin();

    ListPass list;
    EasyPass easy;
    ConservativePass conservative;
    /// What is free by the view, shape (N, R).
    const Amount *free_by_view = nullptr;
    std::vector<WantedRequest> wanted;

  private:
    nb::object store_;
    nb::object requests_;
    nb::object eligible_;
    std::int64_t reordered_ = 0;
    // The arrays that the context points to.
    Matrix columns_;
    Matrix free_;
    Ints running_;
    Ints allocated_first_;
    Ints allocated_nodes_;
    Matrix allocated_amount_;
};

/// Return what a pass starts and reserves, for Python; None where that is nothing.
///
/// A tuple of arrays: the rows that start, the bounds of their nodes (one more), nodes, tasks on
/// each, what is taken of each, shape (K, R); then the row of the job with the reservation (-1 for
/// none), when it starts, and the reserved nodes.
nb::object result_of(const PassContext &context);
nb::object result_of(const Starts &starts, const Nodes &nodes, const Job *jobs);

// Each adds the methods of its topic.
void bind_placement(nb::module_ &module, nb::class_<PassMemory> &memory);
void bind_lists(nb::module_ &module, nb::class_<PassMemory> &memory);
void bind_plans(nb::module_ &module, nb::class_<PassMemory> &memory);

} // namespace cpsched
