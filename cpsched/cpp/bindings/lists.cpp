// Passes over a queue that start jobs now: in an order, and by EASY.
#include "pass_memory.h"

namespace cpsched {

nb::object result_of(const PassContext &context) {
    return result_of(context.starts, context.nodes, context.now.jobs);
}

nb::object result_of(const Starts &starts, const Nodes &nodes, const Job *jobs) {
    if (starts.empty() && starts.head < 0)
        return nb::none();
    std::vector<Row> rows;
    std::vector<std::int64_t> bounds{0};
    std::vector<std::int64_t> node;
    std::vector<std::int64_t> tasks;
    std::vector<Amount> amount;
    for (const Starts::Start &start : starts.starts) {
        const RequestClass what = nodes.requests[jobs[start.row].request_id];
        for (const NodeSpan &span : starts.spans_of(start))
            for (std::int64_t at = span.first; at < span.first + span.count; ++at) {
                node.push_back(at);
                tasks.push_back(span.tasks);
                for (int r = 0; r < nodes.num_resources; ++r)
                    amount.push_back(what.amount_on(nodes.capacity_of(at)[r], span.tasks, r));
            }
        rows.push_back(start.row);
        bounds.push_back(static_cast<std::int64_t>(node.size()));
    }
    std::vector<std::int64_t> reserved;
    for (const NodeSpan &span : starts.reserved)
        for (std::int64_t at = span.first; at < span.first + span.count; ++at)
            reserved.push_back(at);
    const std::size_t length = node.size();
    return nb::make_tuple(moved(std::move(rows)), moved(std::move(bounds)), moved(std::move(node)),
                          moved(std::move(tasks)),
                          moved(std::move(amount), length, nodes.num_resources), starts.head,
                          starts.reserved_at, moved(std::move(reserved)));
}

namespace {

nb::object run_list(PassMemory &memory, const Ints &rows, bool stop) {
    const PassContext &context = memory.begin();
    memory.list.run(span(rows), stop);
    return result_of(context);
}

nb::object run_easy(PassMemory &memory, const Ints &rows, const Ints &backfill, std::int64_t rule) {
    const PassContext &context = memory.begin();
    memory.easy.run(span(rows), span(backfill), static_cast<EasyRule>(rule));
    return result_of(context);
}

auto candidates(PassMemory &memory, const Ints &rows, bool by_age) {
    memory.begin();
    std::vector<Row> found;
    memory.list.candidates(span(rows), by_age, found);
    return moved(std::move(found));
}

void fits_now(PassMemory &memory, const Ints &rows, WritableFlags fits) {
    memory.begin();
    memory.list.fits_now(span(rows), fits.data());
}

} // namespace

void bind_lists(nb::module_ &, nb::class_<PassMemory> &memory) {
    memory
        .def("list", run_list, nb::arg("rows").noconvert(), nb::arg("stop"),
             nb::sig("def list(self, rows: NDArray[numpy.int64], stop: bool) -> tuple | None"),
             "Start jobs in the order given, as long as they fit.\n\n"
             "Returns\n-------\ntuple or None\n"
             "    None where nothing starts; otherwise the rows that start, the bounds of their\n"
             "    nodes, the nodes, the tasks on each and what is taken of each, shape (K, R); "
             "then\n"
             "    the row of the job with the reservation, -1 for none, when it starts, and the\n"
             "    reserved nodes.")
        .def(
            "easy", run_easy, nb::arg("rows").noconvert(), nb::arg("backfill").noconvert(),
            nb::arg("rule"),
            nb::sig("def easy(self, rows: NDArray[numpy.int64], backfill: NDArray[numpy.int64], "
                    "rule: int) -> tuple | None"),
            "Start heads of a queue, reserve for the first that does not fit, and backfill.\n\n"
            "`backfill` has the same rows in the order in which they are backfilled. Returns what\n"
            "`list` does; None where nothing starts and nothing is reserved.")
        .def("candidates", candidates, nb::arg("rows").noconvert(), nb::arg("by_age"),
             "Return the rows of the jobs that could start now on their own, in their order.")
        .def("fits_now", fits_now, nb::arg("rows").noconvert(), nb::arg("fits").noconvert(),
             "Fill `fits` with whether as many tasks of each job fit now.");
}

} // namespace cpsched
