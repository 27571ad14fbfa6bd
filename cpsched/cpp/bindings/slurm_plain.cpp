// Slurm's two schedulers without a policy for Python.
#include "slurm.h"

#include "../slurm/plain.h"

namespace cpsched {

namespace {

using namespace slurm;
using namespace nb::literals;

class PythonPlain {
  public:
    PythonPlain(const nb::dict &settings, std::int64_t allocator, const Matrix &capacity,
                const Matrix &levels)
        : arrays_(allocator, capacity, levels, Ints()),
          plain_(pass_settings(settings), arrays_.nodes()) {}

    nb::tuple run(Time now, const Ints &rows, bool backfills, const Matrix &columns,
                  nb::object requests, nb::object eligible, const Matrix &free, const Ints &running,
                  const Ints &node, const Ints &count, const Matrix &amount) {
        const bool changed = tables_.take(std::move(requests), std::move(eligible));
        const RequestTable table = tables_.requests(arrays_.num_resources);
        if (changed) {
            const Masks masks = tables_.masks();
            plain_.look_at(table, reinterpret_cast<const std::uint8_t *>(masks.data()),
                           static_cast<std::int64_t>(masks.shape(0)));
        }
        const Snapshot snapshot = snapshot_of(now, columns, running, node, count, amount);
        plain_.run(span(rows), backfills, snapshot, free.data());
        const nb::tuple planned = planned_by(plain_.passes(), plain_.records());
        return nb::make_tuple(started_of(plain_.passes(), table, snapshot.jobs), planned[0],
                              planned[1], moved(numbers_of(plain_.passes().main().started())),
                              moved(numbers_of(plain_.passes().backfill().started())));
    }

  private:
    NodeArrays arrays_;
    Tables tables_;
    PlainSlurm plain_;
};

} // namespace

void bind_slurm_plain(const nb::module_ &module) {
    nb::class_<PythonPlain>(module, "PlainSlurm", "Slurm's two schedulers without a policy.")
        .def(nb::init<const nb::dict &, std::int64_t, const Matrix &, const Matrix &>(),
             "settings"_a, "allocator"_a, "capacity"_a, "levels"_a)
        .def("run", &PythonPlain::run, "now"_a, "rows"_a, "backfills"_a, "columns"_a, "requests"_a,
             "eligible"_a, "free"_a, "running"_a, "node"_a, "count"_a, "amount"_a,
             "Start jobs in the order given, and backfill where that is due.\n\n"
             "Returns what starts, the rows that backfill has looked at, when they are planned, "
             "and\n"
             "the places in the order of what the main pass and backfill have started.");
}

} // namespace cpsched
