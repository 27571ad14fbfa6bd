// Plans of the queue: on nodes, and on the system as one pool.
#include "pass_memory.h"

#include "../costs.h"
#include "../node_plan.h"
#include "../passes/conservative.h"
#include "../pool.h"

#include <nanobind/stl/pair.h>

#include <stdexcept>

namespace cpsched {

namespace {

using Doubles = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Levels = nb::ndarray<const std::int64_t, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

void require(bool holds, const char *message) {
    if (!holds)
        throw std::invalid_argument(message);
}

Snapshot snapshot_of(Time now, const Matrix &columns, const Ints &running) {
    Snapshot snapshot;
    snapshot.now = now;
    snapshot.jobs = reinterpret_cast<const Job *>(columns.data());
    snapshot.running = span(running);
    return snapshot;
}

nb::tuple plan(PassMemory &memory, const Ints &rows, std::int64_t depth, bool full) {
    const PassContext &context = memory.begin();
    std::vector<Time> planned = memory.conservative.run(span(rows), depth, full, [] {
        if (PyErr_CheckSignals() != 0)
            throw nb::python_error();
    });
    return nb::make_tuple(result_of(context), moved(std::move(planned)));
}

nb::tuple list_on_nodes_of(PassMemory &memory, const Ints &rows, const Ints &duration,
                           const Ints &order, bool occupies, const Ints &times,
                           const Levels &levels) {
    require(duration.shape(0) == rows.shape(0), "a duration for each row");
    require(levels.shape(0) == times.shape(0) && times.shape(0) > 0, "a level for each time");
    const PlannedJobs jobs{memory.context.now.jobs, span(rows), span(duration)};
    NodePlan plan =
        list_on_nodes(memory.placer, jobs, span(order), occupies, span(times), levels.data());
    return nb::make_tuple(moved(std::move(plan.start)),
                          moved(std::move(plan.tasks), rows.shape(0), memory.nodes.num_nodes));
}

auto given_back_of(const Ints &running, const Matrix &columns, const Ints &count,
                   const Matrix &amount) {
    Snapshot now = snapshot_of(0, columns, running);
    now.allocated_nodes = count.data();
    now.allocated_amount = amount.data();
    return moved(given_back(now, static_cast<int>(amount.shape(1))), running.shape(0),
                 amount.shape(1));
}

nb::tuple pool_profile_of(Time now, const Matrix &columns, const Ints &running, const Matrix &back,
                          const Ints &free) {
    require(back.shape(0) == running.shape(0) && back.shape(1) == free.shape(0),
            "an amount for each running job and resource");
    const PooledAvailability pool = pool_profile(snapshot_of(now, columns, running), back.data(),
                                                 {free.data(), free.data() + free.shape(0)});
    return nb::make_tuple(
        moved(std::vector<Time>(pool.times())),
        moved(std::vector<Amount>(pool.levels()), pool.num_segments(), pool.num_resources()));
}

auto list_plan_of(const Ints &order, const Ints &duration, const Matrix &demand, const Ints &ready,
                  const Ints &times, const Matrix &level) {
    require(demand.shape(0) == duration.shape(0) && ready.shape(0) == duration.shape(0),
            "a demand and an earliest start for each job");
    require(level.shape(0) == times.shape(0) && level.shape(1) == demand.shape(1),
            "an amount for each time and resource");
    const PooledJobs jobs{span(duration), demand.data(), span(ready)};
    return moved(list_plan({span(times), level.data(), level.shape(1)}, jobs, span(order)));
}

auto overdue_slopes(const Ints &wait, const Doubles &area, double aging) {
    require(area.shape(0) == wait.shape(0), "an area for each wait");
    std::vector<double> slope;
    slope.reserve(wait.shape(0));
    for (std::size_t j = 0; j < wait.shape(0); ++j)
        slope.push_back(overdue_slope(static_cast<double>(wait.data()[j]), area.data()[j], aging));
    return moved(std::move(slope));
}

double plan_cost_of(const Ints &start, const Ints &duration, const Ints &submit, double aging) {
    require(duration.shape(0) == start.shape(0) && submit.shape(0) == start.shape(0),
            "a duration and a submit time for each start");
    return plan_cost(span(start), span(duration), span(submit), aging);
}

} // namespace

void bind_plans(nb::module_ &module, nb::class_<PassMemory> &memory) {
    using namespace nb::literals;
    memory
        .def("plan", &plan, "rows"_a.noconvert(), "depth"_a, "full"_a,
             "Plan jobs in order, by conservative backfilling.\n\n"
             "Returns what starts now, and the planned start of each job, -1 where none is.")
        .def("list_on_nodes", &list_on_nodes_of, "rows"_a, "duration"_a, "order"_a, "occupies"_a,
             "times"_a, "levels"_a,
             "Give jobs, in some order, the first window in which they fit on what nodes have.\n\n"
             "Nodes have ``levels[i]``, shape (N, R), from ``times[i]`` on, never less later.\n"
             "Returns the start of each job, -1 for none, and its tasks on each node, (n, N).");
    module.def("given_back", &given_back_of, "running"_a, "columns"_a.noconvert(), "count"_a,
               "amount"_a.noconvert(),
               "Return what each running job releases when it ends, shape (B, R).");
    module.def("pool_profile", &pool_profile_of, "now"_a, "columns"_a.noconvert(), "running"_a,
               "back"_a, "free"_a,
               "Return the times, and what all nodes together have free from each on, (S, R).");
    module.def("list_plan", &list_plan_of, "order"_a, "duration"_a, "demand"_a, "ready"_a,
               "times"_a, "level"_a,
               "Return the start of each job on the system as one pool, -1 where it never fits.\n\n"
               "In the order given, each gets the first second from ``ready`` on.");
    module.def("job_cost", &job_cost, "wait"_a, "runtime"_a, "aging"_a,
               "Return the bounded slowdown of a job, and a penalty for a very long wait.");
    module.def("overdue_slope", &overdue_slopes, "wait"_a, "area"_a, "aging"_a,
               "Return by how much the penalty for long waits grows with a second, shape (n,).");
    module.def("plan_cost", &plan_cost_of, "start"_a, "duration"_a, "submit"_a, "aging"_a,
               "Return the sum of ``job_cost`` over a plan; a job that never starts costs most.");
}

} // namespace cpsched
