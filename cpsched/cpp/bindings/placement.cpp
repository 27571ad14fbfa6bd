// Placement of one job, for dispatchers and forecasts in Python.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>

#include "pass_memory.h"

#include <algorithm>
#include <optional>

namespace cpsched {

namespace {

using Array = nb::ndarray<nb::numpy, std::int64_t>;

/// Return the job in a row of the job table.
const Job &job_in(const Ints &row) {
    if (row.size() * sizeof(std::int64_t) != sizeof(Job))
        throw nb::value_error("job: must be a row of the job table");
    return *reinterpret_cast<const Job *>(row.data());
}

std::vector<std::int64_t> copied(const Ints &array) {
    return {array.data(), array.data() + array.size()};
}

void check_nodes(const Matrix &amounts, const Nodes &nodes, const char *message) {
    if (static_cast<std::int64_t>(amounts.shape(0)) != nodes.num_nodes ||
        static_cast<int>(amounts.shape(1)) != nodes.num_resources)
        throw nb::value_error(message);
}

/// Return the tasks on each node, of pieces that are of single nodes.
Array tasks_by_node(const Pieces &pieces, std::int64_t num_nodes) {
    std::vector<std::int64_t> tasks(static_cast<std::size_t>(num_nodes), 0);
    for (const Piece &piece : pieces)
        tasks[piece.range] = piece.tasks;
    return moved(std::move(tasks));
}

std::optional<Array> place(PassMemory &memory, const Ints &job, const Matrix &free,
                           std::optional<Matrix> preferred) {
    const Nodes &nodes = memory.nodes;
    Placer &placer = memory.placer;
    check_nodes(free, nodes, "free: must have a row for each node and a column for each resource");
    const Request request = request_of(job_in(job), nodes.requests);
    const Ranges ranges = single_nodes(nodes.num_nodes);
    Pieces pieces;
    bool fits = false;
    if (preferred) {
        check_nodes(*preferred, nodes, "preferred: must have the shape of free");
        fits = placer.place_preferring(free.data(), preferred->data(), ranges, request, pieces);
    } else {
        fits = placer.place(free.data(), ranges, request, pieces);
    }
    if (!fits)
        return std::nullopt;
    return tasks_by_node(pieces, nodes.num_nodes);
}

std::optional<Array> place_in_order(const Ints &fitting, const Ints &order, std::int64_t tasks,
                                    std::int64_t nodes_min, std::int64_t nodes_max, bool even,
                                    bool contiguous) {
    Nodes nodes;
    nodes.num_nodes = static_cast<std::int64_t>(fitting.size());
    Placer placer(Allocator::kFirstFit, nodes);
    const Request request = {RequestClass(nullptr, 0), 0, tasks, 1, nodes_min, nodes_max};
    Pieces pieces;
    if (!placer.fill_in_order(single_nodes(nodes.num_nodes), request, copied(fitting),
                              copied(order), even, contiguous, pieces))
        return std::nullopt;
    return tasks_by_node(pieces, nodes.num_nodes);
}

Array num_fitting(const Matrix &free, const Matrix &capacity, const Masks &eligible,
                  const Matrix &requests, std::int64_t request_id) {
    Nodes nodes;
    nodes.num_nodes = static_cast<std::int64_t>(capacity.shape(0));
    nodes.num_resources = static_cast<int>(capacity.shape(1));
    nodes.capacity = capacity.data();
    nodes.eligible = reinterpret_cast<const std::uint8_t *>(eligible.data());
    check_nodes(free, nodes, "free: must have the shape of capacity");
    const RequestTable table(requests.data(), static_cast<std::int64_t>(requests.shape(0)),
                             nodes.num_resources);
    std::vector<std::int64_t> tasks;
    tasks.reserve(capacity.shape(0));
    for (std::int64_t node = 0; node < nodes.num_nodes; ++node)
        tasks.push_back(num_fitting_tasks(nodes, free.data() + node * nodes.num_resources, node,
                                          table[request_id]));
    return moved(std::move(tasks));
}

/// Take over rows of (request class, tasks together on one node, weight), the heaviest first.
void set_wanted(PassMemory &memory, const Matrix &rows) {
    if (rows.shape(1) != 3)
        throw nb::value_error("rows: must be a request class, tasks and a weight each");
    memory.wanted.clear();
    for (std::size_t at = 0; at < rows.size(); at += 3)
        memory.wanted.push_back({rows.data()[at], rows.data()[at + 1], rows.data()[at + 2]});
    memory.nodes.wanted = span_of(memory.wanted);
}

} // namespace

void bind_placement(nb::module_ &module, nb::class_<PassMemory> &memory) {
    memory
        .def("place", &place, nb::arg("job"), nb::arg("free"), nb::arg("preferred") = nb::none(),
             "Return the number of tasks of a job on each node, shape (N,); None if it does not "
             "fit.\n\nThe job is a row of the job table, free is what each node has, shape (N, R). "
             "Preferred is a part of that to use first, as reservations do.")
        .def("set_wanted", &set_wanted, nb::arg("rows"),
             "Note the request classes that other jobs ask for, for the allocator fgd.\n\n"
             "Rows of request class, tasks together on one node and weight, the heaviest first.");
    module.def("place_in_order", &place_in_order, nb::arg("fitting"), nb::arg("order"),
               nb::kw_only(), nb::arg("tasks"), nb::arg("nodes_min"), nb::arg("nodes_max"),
               nb::arg("even"), nb::arg("contiguous"),
               "Put a job's tasks on nodes in a given order of preference.\n\nFitting is how many "
               "tasks each node holds, order has the nodes that hold one or more. Returns the "
               "number of tasks on each node, None if the job does not fit.");
    module.def("num_fitting_tasks", &num_fitting, nb::arg("free"), nb::arg("capacity"),
               nb::arg("eligible"), nb::arg("requests"), nb::arg("request_id"),
               "Return the number of tasks of a request class that fit on each node, shape (N,).");
}

} // namespace cpsched
