// Slurm in one run for Python, and as a native dispatcher.
#include "slurm.h"

#include "../slurm/dispatcher.h"

#include <nanobind/stl/vector.h>

namespace cpsched {

namespace {

using namespace slurm;
using namespace nb::literals;
using Table = std::vector<std::vector<std::int64_t>>;

SlurmSetup setup_of(const nb::dict &settings, const NodeArrays &arrays, const Masks &partitions,
                    const Ints &from, const Ints &until, const Masks &reserved,
                    const ShareTree &tree, const Doubles &used, const Ints &resets) {
    return {priority_settings(nb::cast<nb::dict>(settings["priority"])),
            usage_settings(nb::cast<nb::dict>(settings["usage"])),
            timer_settings(nb::cast<nb::dict>(settings["timer"])),
            pass_settings(nb::cast<nb::dict>(settings["passes"])),
            arrays.nodes(),
            masks_of(partitions),
            {copied(from), copied(until), masks_of(reserved)},
            tree,
            copied(used),
            copied(resets)};
}

/// Asks a Python function, which adds templates to the scheduler.
class PythonSource : public TemplateSource {
  public:
    explicit PythonSource(nb::object learn) : learn_(std::move(learn)) {}
    void learn(const std::vector<Row> &rows) override {
        const nb::gil_scoped_acquire gil;
        learn_(moved(std::vector<Row>(rows)));
    }

  private:
    nb::object learn_;
};

class PythonScheduler {
  public:
    PythonScheduler(const nb::dict &settings, std::int64_t allocator, const Matrix &capacity,
                    const Matrix &levels, const Ints &weights, const Masks &partitions,
                    const Ints &from, const Ints &until, const Masks &reserved,
                    const ShareTree &tree, const Doubles &used, const Ints &resets)
        : arrays_(allocator, capacity, levels, weights),
          scheduler(
              setup_of(settings, arrays_, partitions, from, until, reserved, tree, used, resets)) {}

    void look_at(nb::object requests, nb::object eligible) {
        if (!tables_.take(std::move(requests), std::move(eligible)))
            return;
        const Masks masks = tables_.masks();
        scheduler.look_at(tables_.requests(arrays_.num_resources),
                          reinterpret_cast<const std::uint8_t *>(masks.data()),
                          static_cast<std::int64_t>(masks.shape(0)));
    }

    nb::object decide(Time now, const Matrix &columns, const Matrix &free, const Ints &running,
                      const Ints &node, const Ints &count, const Matrix &amount, Row num_jobs,
                      const Ints &waiting, std::int64_t reordered, nb::object learn) {
        Present present;
        present.now = snapshot_of(now, columns, running, node, count, amount);
        present.free = free.data();
        present.num_jobs = num_jobs;
        present.waiting = span(waiting);
        present.reordered = reordered;
        PythonSource source(std::move(learn));
        scheduler.set_only_starts(false);
        scheduler.decide(present, source);
        return started_of(scheduler.passes(), tables_.requests(arrays_.num_resources),
                          present.now.jobs);
    }

    std::vector<std::int64_t> priorities(Time now, const Matrix &columns, const Ints &rows,
                                         nb::object learn) {
        Present present;
        present.now.now = now;
        present.now.jobs = reinterpret_cast<const Job *>(columns.data());
        PythonSource source(std::move(learn));
        return scheduler.priorities(present, span(rows), source);
    }

    /// Add the template of a job: a row of numbers for each of its records, what each counts in
    /// limits, and its weighted factors and billing.
    void add_template(const Matrix &columns, Row row, const Table &records, const Table &amounts,
                      const std::vector<std::vector<double>> &factors) {
        const Job &job = reinterpret_cast<const Job *>(columns.data())[row];
        std::vector<TemplateRecord> made;
        for (std::size_t i = 0; i < records.size(); ++i) {
            Record record;
            const std::vector<std::int64_t> &numbers = records.at(i);
            record.partition = numbers.at(0);
            record.limit_set = numbers.at(1);
            record.user = numbers.at(2);
            record.association = numbers.at(3);
            record.qos = numbers.at(4);
            record.reservation = numbers.at(5);
            record.until = numbers.at(6);
            record.nice = numbers.at(7);
            record.standing = numbers.at(8);
            record.priority = 0;
            record.planned = 0;
            record.has_others = records.size() > 1;
            record.request_id = scheduler.requests().number_of(
                job.request_id, record.has_others ? record.partition : -1, record.reservation);
            const std::vector<double> &own = factors.at(i);
            record.factors = {own.at(0), own.at(1), own.at(2), own.at(3), own.at(4)};
            record.billing = own.at(5);
            made.push_back({record, amounts.at(i)});
        }
        scheduler.templates().add(job, std::move(made));
    }

    /// Return what is known of records, a row each; see cpsched/slurm/dispatch/columns.py.
    auto records(const Ints &numbers) const {
        std::vector<std::int64_t> table;
        for (const std::int64_t number : span(numbers)) {
            const Record &record = scheduler.records()[static_cast<std::size_t>(number)];
            for (const std::int64_t value :
                 {number, record.row, record.partition, record.array, record.user,
                  record.association, record.reservation, record.begins, record.priority,
                  record.reserves_from, record.qos, record.limit_set})
                table.push_back(value);
        }
        return moved(std::move(table), numbers.size(), kNumColumns);
    }
    std::vector<std::int64_t> amounts(std::size_t number) const {
        const std::int64_t *first = scheduler.records().amounts(number);
        return {first, first + scheduler.records().num_amounts()};
    }

    nb::tuple records_of(Row row) const {
        const RecordRange own = scheduler.records().of(row);
        return nb::make_tuple(own.first, own.end);
    }

    auto ranking() const {
        const std::vector<std::size_t> order = scheduler.ranking();
        return moved(std::vector<std::int64_t>(order.begin(), order.end()));
    }

  private:
    static constexpr std::size_t kNumColumns = 12;
    NodeArrays arrays_;
    Tables tables_;

  public:
    SlurmScheduler scheduler;
};

/// A native dispatcher that asks Python for templates.
class PythonSlurmDispatcher : public SlurmDispatcher {
  public:
    PythonSlurmDispatcher(PythonScheduler &python, nb::object learn)
        : SlurmDispatcher(python.scheduler, source_), python_(python), source_(std::move(learn)) {}

    const Starts &decide(Cluster &cluster, Time now) override {
        // No observer sees plans.
        python_.scheduler.set_only_starts(true);
        return SlurmDispatcher::decide(cluster, now);
    }

  private:
    PythonScheduler &python_;
    PythonSource source_;
};

// --- saving --------------------------------------------------------------------------------------

constexpr std::size_t kKeptColumns = 7;

nb::dict state_of(const PythonScheduler &python) {
    const SlurmScheduler::State state = python.scheduler.state();
    std::vector<std::int64_t> records;
    for (const SlurmScheduler::State::Kept &kept : state.records)
        records.insert(records.end(), {kept.row, kept.partition, kept.since, kept.priority,
                                       kept.planned, kept.begins, kept.key});
    std::vector<std::int64_t> attempts;
    for (const auto &[row, count] : state.attempts)
        attempts.insert(attempts.end(), {row, count});
    const PassTimer::State &timer = state.timer;
    nb::dict saved;
    saved["records"] = moved(std::move(records), state.records.size(), kKeptColumns);
    saved["attempts"] = moved(std::move(attempts), state.attempts.size(), 2);
    saved["rests"] = moved(std::vector<Time>(state.rests));
    saved["timer"] = moved(std::vector<std::int64_t>{
        timer.after_end, timer.after_submit, timer.full, timer.backfill, timer.last,
        timer.last_after_submit, timer.last_backfill, timer.has_changed});
    saved["numbers"] = moved(std::vector<std::int64_t>{
        static_cast<std::int64_t>(state.num_queued), static_cast<std::int64_t>(state.num_running),
        state.num_known, state.num_requests, state.change, state.again_at, state.has_arrived});
    saved["usage"] = usage_state(state.usage);
    return saved;
}

void restore(PythonScheduler &python, const nb::dict &saved) {
    SlurmScheduler::State state;
    const auto records = nb::cast<Matrix>(saved["records"]);
    for (std::size_t i = 0; i < records.shape(0); ++i) {
        const std::int64_t *row = records.data() + i * kKeptColumns;
        state.records.push_back({row[0], row[1], row[2], row[3], row[4], row[5], row[6]});
    }
    const auto attempts = nb::cast<Matrix>(saved["attempts"]);
    for (std::size_t i = 0; i < attempts.shape(0); ++i)
        state.attempts[attempts.data()[2 * i]] = attempts.data()[2 * i + 1];
    state.rests = copied(nb::cast<Ints>(saved["rests"]));
    const auto timer = nb::cast<Ints>(saved["timer"]);
    const std::int64_t *at = timer.data();
    state.timer = {at[0], at[1], at[2], at[3], at[4], at[5], at[6], at[7] != 0};
    const auto numbers = nb::cast<Ints>(saved["numbers"]);
    at = numbers.data();
    state.num_queued = static_cast<std::size_t>(at[0]);
    state.num_running = static_cast<std::size_t>(at[1]);
    state.num_known = at[2];
    state.num_requests = at[3];
    state.change = at[4];
    state.again_at = at[5];
    state.has_arrived = at[6] != 0;
    state.usage = usage_state_of(nb::cast<nb::dict>(saved["usage"]));
    python.scheduler.restore(std::move(state));
}

void bind_scheduler(const nb::module_ &module) {
    nb::class_<PythonScheduler>(module, "SlurmScheduler", "Slurm in one run.")
        .def(nb::init<const nb::dict &, std::int64_t, const Matrix &, const Matrix &, const Ints &,
                      const Masks &, const Ints &, const Ints &, const Masks &, const ShareTree &,
                      const Doubles &, const Ints &>(),
             "settings"_a, "allocator"_a, "capacity"_a, "levels"_a, "weights"_a, "partitions"_a,
             "reserved_from"_a, "reserved_until"_a, "reserved"_a, "tree"_a, "used"_a, "resets"_a)
        .def("look_at", &PythonScheduler::look_at, "requests"_a, "eligible"_a,
             "Point to the request classes and masks of a view.")
        .def("decide", &PythonScheduler::decide, "now"_a, "columns"_a, "free"_a, "running"_a,
             "node"_a, "count"_a, "amount"_a, "num_jobs"_a, "waiting"_a, "reordered"_a, "learn"_a,
             "Run the passes that are due; `learn` is asked for templates of rows.")
        .def("priorities", &PythonScheduler::priorities, "now"_a, "columns"_a, "rows"_a, "learn"_a,
             "Return the priorities of jobs that arrive now.")
        .def("add_template", &PythonScheduler::add_template, "columns"_a, "row"_a, "records"_a,
             "amounts"_a, "factors"_a, "Say what the records of jobs like one are made of.")
        .def(
            "unknown",
            [](PythonScheduler &self, const Matrix &columns, Row num_jobs) {
                return moved(self.scheduler.templates().unknown(
                    reinterpret_cast<const Job *>(columns.data()), 0, num_jobs));
            },
            "columns"_a, "num_jobs"_a,
            "Return the rows of jobs that none is like whose template is known.")
        .def("records", &PythonScheduler::records, "numbers"_a,
             "Return what is known of records, a row each.")
        .def("records_of", &PythonScheduler::records_of, "row"_a,
             "Return the first record of a job, and the one behind its last.")
        .def("amounts", &PythonScheduler::amounts, "number"_a,
             "Return what a record counts in limits.")
        .def("ranking", &PythonScheduler::ranking,
             "Return the queue's records as the last decision saw it.")
        .def(
            "forget_templates",
            [](PythonScheduler &self, bool renumbered) {
                self.scheduler.forget_templates(renumbered);
            },
            "renumbered"_a, "Forget what jobs are alike.")
        .def(
            "note_change", [](PythonScheduler &self) { self.scheduler.note_change(); },
            "Note that something has changed besides jobs.")
        .def(
            "held_by",
            [](const PythonScheduler &self, Row row) { return self.scheduler.held_by(row); },
            "row"_a, "Return a counter that holds a job now, -1 if none does.")
        .def(
            "planned",
            [](const PythonScheduler &self) {
                return planned_by(self.scheduler.passes(), self.scheduler.records());
            },
            "Return the rows that backfill has looked at, and when they are planned.")
        .def(
            "started",
            [](const PythonScheduler &self) {
                const SlurmPasses &passes = self.scheduler.passes();
                return nb::make_tuple(moved(numbers_of(passes.main().started())),
                                      moved(numbers_of(passes.backfill().started())));
            },
            "Return the records that the main pass and backfill have started.")
        .def(
            "exceeded",
            [](const PythonScheduler &self, std::size_t number) {
                return self.scheduler.exceeded(number);
            },
            "number"_a, "Return a counter that holds a record now, -1 if none does.")
        .def_prop_ro(
            "due",
            [](const PythonScheduler &self) {
                const PassTimer::Due due = self.scheduler.due();
                return nb::make_tuple(due.depth, due.backfills);
            },
            "How many jobs the last main pass considered, and whether backfill came.")
        .def_prop_ro(
            "timer",
            [](const PythonScheduler &self) {
                const PassTimer::State &state = self.scheduler.timer().state();
                nb::dict times;
                times["after_end"] = state.after_end;
                times["after_submit"] = state.after_submit;
                times["full"] = state.full;
                times["backfill"] = state.backfill;
                times["last"] = state.last;
                times["last_backfill"] = state.last_backfill;
                return times;
            },
            "When passes are due, and when the last ones were.")
        .def_prop_ro(
            "again_at", [](const PythonScheduler &self) { return self.scheduler.again_at(); },
            "When there is something to do again for the jobs that wait.")
        .def_prop_ro(
            "limits", [](PythonScheduler &self) -> Limits & { return self.scheduler.limits(); },
            nb::rv_policy::reference_internal)
        .def_prop_ro(
            "usage",
            [](const PythonScheduler &self) -> const Usage & { return self.scheduler.usage(); },
            nb::rv_policy::reference_internal)
        .def_prop_ro("num_templates",
                     [](PythonScheduler &self) { return self.scheduler.templates().size(); })
        .def("state", &state_of)
        .def("restore", &restore, "saved"_a);
}

} // namespace

void bind_slurm_scheduler(const nb::module_ &module) {
    bind_scheduler(module);
    nb::class_<PythonSlurmDispatcher, NativeDispatcher>(
        module, "SlurmDispatcher", "Slurm, as the event loop asks it without Python.")
        .def(nb::init<PythonScheduler &, nb::object>(), "scheduler"_a, "learn"_a,
             nb::keep_alive<1, 2>());
}

} // namespace cpsched
