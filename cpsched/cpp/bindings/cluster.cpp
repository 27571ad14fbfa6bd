#include "cluster.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/set.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

namespace cpsched {

namespace {

using ReadOnly = nb::ndarray<nb::numpy, const std::int64_t>;

/// Return a read-only array over a part of memory that grows elsewhere, and keep it alive.
template <class... Sizes>
ReadOnly look_at(const SharedArray<std::int64_t> &values, std::int64_t first, Sizes... sizes) {
    using Shared = std::shared_ptr<std::vector<std::int64_t>>;
    const nb::capsule owner(new Shared(values.shared()),
                            [](void *pointer) noexcept { delete static_cast<Shared *>(pointer); });
    const std::size_t shape[] = {static_cast<std::size_t>(sizes)...};
    return ReadOnly(values.data() + first, sizeof...(Sizes), shape, owner);
}

/// What is wrong with a start: fault, position and resource; the first is 0 where nothing is.
std::tuple<std::int64_t, std::int64_t, int> numbers_of(const Refusal &refusal) {
    return {static_cast<std::int64_t>(refusal.fault), refusal.position, refusal.resource};
}

/// Say whether arrays belong together and describe nodes of a cluster.
bool belong_together(const Cluster &cluster, const Ints &node, const Ints &tasks,
                     const Matrix &amount) {
    return node.shape(0) == tasks.shape(0) && node.shape(0) == amount.shape(0) &&
           amount.shape(1) == static_cast<std::size_t>(cluster.num_resources());
}

} // namespace

PythonCluster::PythonCluster(const Matrix &capacity)
    : Cluster(static_cast<std::int64_t>(capacity.shape(0)), static_cast<int>(capacity.shape(1)),
              std::vector<Amount>(capacity.data(), capacity.data() + capacity.size())) {}

void PythonCluster::look_at_jobs(const WritableMatrix &columns) {
    columns_ = columns;
    set_jobs(reinterpret_cast<Job *>(columns.data()));
}

void PythonCluster::look_at_requests(const Matrix &requests) {
    request_rows_ = requests;
    set_requests(requests.data(), static_cast<std::int64_t>(requests.shape(0)));
}

void PythonCluster::look_at_eligible(const Masks &masks) {
    masks_ = masks;
    set_eligible(reinterpret_cast<const std::uint8_t *>(masks.data()),
                 static_cast<std::int64_t>(masks.shape(0)));
}

nb::object PythonCluster::free_nodes() {
    const SharedArray<Amount> &free = free_array();
    if (!free_.is_valid())
        free_ = nb::cast(look_at(free, 0, num_nodes(), num_resources()));
    return free_;
}

nb::tuple PythonCluster::allocations() {
    if (allocations_of_ != allocated_first_array().data()) {
        const auto size = allocated_first_array().size();
        allocations_ = nb::make_tuple(look_at(allocated_first_array(), 0, size),
                                      look_at(allocated_nodes_array(), 0, size),
                                      look_at(allocated_tasks_array(), 0, size),
                                      look_at(allocated_amount_array(), 0, size, num_resources()));
        allocations_of_ = allocated_first_array().data();
    }
    return nb::borrow<nb::tuple>(allocations_);
}

void bind_cluster(const nb::module_ &module) {
    using nb::arg;
    nb::class_<Cluster>(module, "ClusterState", "What a Cluster is without its tables.");
    nb::class_<PythonCluster, Cluster> cluster(
        module, "Cluster",
        "The state of a cluster: which jobs wait, which run where, and what is free.");
    cluster.def(nb::init<const Matrix &>(), arg("capacity"));
    cluster.def("look_at_jobs", &PythonCluster::look_at_jobs, arg("columns"),
                "Use a job table, shape (n, 41); it is written to.");
    cluster.def("look_at_requests", &PythonCluster::look_at_requests, arg("requests"),
                "Use a table of request classes.");
    cluster.def("look_at_eligible", &PythonCluster::look_at_eligible, arg("masks"),
                "Use masks of the nodes that are up and that each class may use, shape (C, N).");

    cluster.def_prop_ro("num_waiting", &Cluster::num_waiting, "The number of waiting jobs.");
    cluster.def_prop_ro("num_running", &Cluster::num_running, "The number of running jobs.");
    cluster.def_prop_ro("free", &PythonCluster::free_nodes,
                        nb::sig("def free(self) -> NDArray[numpy.int64]"),
                        "What each node has left, shape (N, R); nothing on nodes that are down.\n\n"
                        "One array, which this brings up to date.");
    cluster.def(
        "waiting",
        [](Cluster &self) {
            const Span<const Row> rows = self.waiting();
            return look_at(self.queue_array(), self.queue_first(), rows.size());
        },
        "Return the rows of the waiting jobs in order of submission.");
    cluster.def(
        "running",
        [](Cluster &self) { return look_at(self.running_array(), 0, self.num_running()); },
        "Return the rows of the running jobs by (expected end, row).");
    cluster.def(
        "allocations", &PythonCluster::allocations,
        "Return the ranges of nodes of all running jobs, found by ALLOC_FIRST: first node,\n"
        "number of nodes, tasks and amounts on each.");
    cluster.def("oldest", &Cluster::oldest, arg("size"),
                "Return the first row of a job that waits or runs; size where none does.");

    cluster.def("enqueue", &Cluster::enqueue, arg("row"), "Put a job at its place in the queue.");
    cluster.def("return_to_queue", &Cluster::return_to_queue, arg("row"),
                "Put a job that was held, or that ran, at its place in the queue.");
    cluster.def(
        "dequeue",
        [](Cluster &self, Row row, std::int64_t state) {
            self.dequeue(row, static_cast<JobState>(state));
        },
        arg("row"), arg("state"), "Take a waiting job out of the queue, in another state.");
    cluster.def(
        "requeue",
        [](Cluster &self, Row row) {
            ++self.changes;
            self.requeue(row);
        },
        arg("row"), "Put a running job back into the queue, with one more attempt.");
    cluster.def(
        "set_queue", [](Cluster &self, const Ints &rows) { self.set_queue(span(rows)); },
        arg("rows"), "Replace the queue.");

    cluster.def(
        "start",
        [](Cluster &self, Row row, const Ints &node, const Ints &tasks, const Matrix &amount,
           Time now) {
            if (!belong_together(self, node, tasks, amount))
                return numbers_of({Fault::kShape, 0, 0});
            ++self.changes;
            return numbers_of(self.start(row, RangesOfNodes(node, tasks, amount).ranges(), now));
        },
        arg("row"), arg("node"), arg("tasks"), arg("amount"), arg("now"),
        "Give a waiting job nodes; return fault, position and resource, the first 0 for none.");
    cluster.def(
        "resize",
        [](Cluster &self, Row row, const Ints &node, const Ints &tasks, const Matrix &amount,
           Time now) {
            if (!belong_together(self, node, tasks, amount))
                return numbers_of({Fault::kShape, 0, 0});
            ++self.changes;
            return numbers_of(self.resize(row, RangesOfNodes(node, tasks, amount).ranges(), now));
        },
        arg("row"), arg("node"), arg("tasks"), arg("amount"), arg("now"),
        "Give a running job other nodes; returns as start.");
    cluster.def("undo_start", &Cluster::undo_start, arg("row"), "Undo a start in the same second.");
    cluster.def(
        "leave",
        [](Cluster &self, Row row) {
            ++self.changes;
            self.leave(row);
        },
        arg("row"), "Take a running job off its nodes.");
    cluster.def("expect_end", &Cluster::expect_end, arg("row"), arg("end"),
                "Expect a running job at another end than so far.");
    cluster.def(
        "correct_overdue",
        [](Cluster &self, bool doubles, Time now) {
            self.correct_overdue(doubles ? Correction::kDouble : Correction::kRequested, now);
        },
        arg("doubles"), arg("now"),
        "Expect running jobs later whose expected end has passed; never before now + 1.");

    cluster.def_prop_ro("down", &Cluster::down, "The nodes that are down, in order.");
    cluster.def(
        "set_down",
        [](Cluster &self, const std::vector<std::int64_t> &nodes) {
            ++self.changes;
            self.set_down(nodes);
        },
        arg("nodes"), "Set which nodes are down.");

    cluster.def_rw("now", &Cluster::reported_at, "The second of the last report.");
    cluster.def_rw("has_news", &Cluster::has_news,
                   "Whether anything has happened since the dispatcher was last asked.");
    cluster.def_rw("wakes", &Cluster::wakes,
                   "The seconds at which the dispatcher asked to be asked.");
    cluster.def(
        "add_wake", [](Cluster &self, Time second) { self.wakes.insert(second); }, arg("second"),
        "Ask the dispatcher at a second.");
    cluster.def_rw("num_jobs", &Cluster::num_jobs, "The number of jobs submitted so far.");
    cluster.def_rw("reordered", &Cluster::reordered,
                   "How often a job came into the queue elsewhere than at its end.");
    cluster.def("await_switches", &Cluster::await_switches, arg("row"), arg("now"),
                "Note when the limit of switches of a waiting job passes.");
    cluster.def_prop_ro("awaits_switches", &Cluster::awaits_switches,
                        "Whether a job's limit of switches will pass.");
    cluster.def("relax_switches", &Cluster::relax_switches, arg("row"),
                "Allow a job any number of switches from now on.");
    cluster.def_rw("switch_ends", &Cluster::switch_ends,
                   "When the limit of switches of each job passes: second and row.");
    cluster.def_rw("relaxed", &Cluster::relaxed, "The jobs whose limit of switches has passed.");
    cluster.def("is_due", &Cluster::is_due, arg("now"),
                "Say whether the dispatcher is to be asked.");
    cluster.def_prop_ro(
        "next_wake",
        [](Cluster &self) -> std::optional<Time> {
            const Time wake = self.next_wake();
            return wake == kFar ? std::nullopt : std::optional(wake);
        },
        "The next second at which the dispatcher is to be asked in any case; None: never.");
    cluster.def("ran", &Cluster::ran, arg("row"), arg("now"),
                "Return how many seconds a running job has run, as on the tasks it prefers.");
    cluster.def_rw("ran_before", &Cluster::ran_before,
                   "Seconds that jobs which were resized had run before.");
    cluster.def(
        "set_ran_before", [](Cluster &self, Row row, Time ran) { self.ran_before[row] = ran; },
        arg("row"), arg("ran"), "Note what a resized job had run before.");
    cluster.def(
        "forget_ran_before", [](Cluster &self, Row row) { self.ran_before.erase(row); }, arg("row"),
        "Forget it.");
}

} // namespace cpsched
