// The Python class of the event loop, and of the native parts that it may have.
#include "cluster.h"

#include "../native_dispatchers.h"
#include "../recorders.h"
#include "../simulation.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

namespace cpsched {

namespace {

using Flags = nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Doubles = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// Calls the methods of a Python object, which owns the simulation: so it is known weakly.
class PythonParticipants : public Participants {
  public:
    explicit PythonParticipants(nb::handle owner) : owner_(nb::weakref(owner)) {}

    JobBlock block(Row row) override {
        const nb::gil_scoped_acquire gil;
        const nb::object block = owner().attr("_block")(row);
        rows_ = nb::cast<Matrix>(block.attr("rows"));
        brings_ = nb::cast<Flags>(block.attr("brings"));
        return {nb::cast<Row>(block.attr("first")), nb::cast<Row>(block.attr("end")), rows_.data(),
                reinterpret_cast<const std::uint8_t *>(brings_.data())};
    }
    void bring(Row end) override { call("_bring", end); }
    void predict(Row first, Row end, Time now) override { call("_predict", first, end, now); }
    bool dispatch(Time now) override { return ask<bool>("_dispatch", now); }
    Time end_of_start(Row row, Time now, bool again) override {
        return ask<Time>("_end_of_start", row, now, again);
    }
    bool ends_at_limit(Row row) override { return ask<bool>("_ends_at_limit", row); }
    void schedule_resize_request(Row row, Time end) override {
        call("_schedule_resize_request", row, end);
    }
    void request_resize(Row row) override { call("_request_resize", row); }
    Time change_nodes(Time now) override { return ask<Time>("_change_nodes", now); }
    void predictor_on_start(Row row, Time now) override { call("_predictor_on_start", row, now); }
    void predictor_on_end(Row row, Time runtime, std::int64_t status, bool killed,
                          Time now) override {
        call("_predictor_on_end", row, runtime, status, killed, now);
    }
    void predictor_on_cancel(Row row, Time now) override { call("_predictor_on_cancel", row, now); }
    void on_submit(Row first, Row end, Time now) override { call("_on_submit", first, end, now); }
    void on_start(Row row, Time now) override { call("_on_start", row, now); }
    void on_end(Row row, Outcome outcome, Time now) override {
        call("_on_end", row, static_cast<std::int64_t>(outcome), now);
    }
    void on_instant(Time now) override { call("_on_instant", now); }
    /// Have Python say what is wrong with a start.
    void refused(Row row) { call("_refused", row); }
    void check_signals() override {
        const nb::gil_scoped_acquire gil;
        if (PyErr_CheckSignals() != 0)
            throw nb::python_error();
    }

  private:
    nb::object owner() { return owner_(); }
    template <class... Values>
    void call(const char *method, Values... values) {
        const nb::gil_scoped_acquire gil;
        owner().attr(method)(values...);
    }
    template <class Result, class... Values>
    Result ask(const char *method, Values... values) {
        const nb::gil_scoped_acquire gil;
        return nb::cast<Result>(owner().attr(method)(values...));
    }

    nb::object owner_;
    Matrix rows_;
    Flags brings_;
};

/// A simulation, and the Python objects that own what it works on.
class PythonSimulation {
  public:
    PythonSimulation(nb::handle owner, PythonCluster &cluster, const nb::dict &columns,
                     const WritableInts &start, const WritableInts &end,
                     const WritableInts &outcome, const Simulation::Settings &settings)
        : participants_(owner), columns_(columns), start_(start), end_(end), outcome_(outcome),
          simulation(cluster, jobs_of(columns), {start.data(), end.data(), outcome.data()},
                     settings, participants_) {}

  private:
    static Span<const std::int64_t> column(const nb::dict &columns, const char *name) {
        return columns.contains(name) ? span(nb::cast<Ints>(columns[name]))
                                      : Span<const std::int64_t>();
    }
    static FutureJobs jobs_of(const nb::dict &columns) {
        FutureJobs jobs;
        jobs.submit = column(columns, "submit");
        jobs.runtime = column(columns, "runtime");
        jobs.requested_time = column(columns, "requested_time");
        jobs.status = column(columns, "status");
        jobs.begin = column(columns, "begin");
        jobs.cancel = column(columns, "cancel");
        jobs.dependency = column(columns, "dependency");
        jobs.dependency_type = column(columns, "dependency_type");
        jobs.dependents = column(columns, "dependents");
        jobs.first_dependent = column(columns, "first_dependent");
        if (columns.contains("failed")) {
            const auto failed = nb::cast<Flags>(columns["failed"]);
            jobs.failed = {reinterpret_cast<const std::uint8_t *>(failed.data()), failed.shape(0)};
        }
        return jobs;
    }

    PythonParticipants participants_;
    nb::dict columns_;
    WritableInts start_;
    WritableInts end_;
    WritableInts outcome_;
    nb::object dispatcher_;
    std::vector<nb::object> observers_;

  public:
    void set_dispatcher(nb::object dispatcher) {
        simulation.set_dispatcher(dispatcher.is_none() ? nullptr
                                                       : nb::cast<NativeDispatcher *>(dispatcher));
        dispatcher_ = std::move(dispatcher);
    }
    int advance(Time until, double seconds) {
        try {
            const nb::gil_scoped_release no_gil;
            return static_cast<int>(simulation.advance(until, seconds));
        } catch (const RefusedStart &refused) {
            participants_.refused(refused.row);
            throw;
        }
    }
    void add_observer(nb::object observer) {
        simulation.add_observer(*nb::cast<NativeObserver *>(observer));
        observers_.push_back(std::move(observer));
    }

    Simulation simulation;
};

Simulation::Settings settings_of(const nb::dict &options) {
    Simulation::Settings settings;
    const auto flag = [&options](const char *name, bool &value) {
        if (options.contains(name))
            value = nb::cast<bool>(options[name]);
    };
    flag("kills", settings.kills);
    flag("has_holds", settings.has_holds);
    flag("has_cancels", settings.has_cancels);
    flag("acts_when_idle", settings.acts_when_idle);
    flag("predict", settings.calls.predict);
    flag("work", settings.calls.work);
    flag("evolve", settings.calls.evolve);
    flag("predictor_on_start", settings.calls.predictor_on_start);
    flag("predictor_on_end", settings.calls.predictor_on_end);
    flag("predictor_on_cancel", settings.calls.predictor_on_cancel);
    flag("on_submit", settings.calls.on_submit);
    flag("on_start", settings.calls.on_start);
    flag("on_end", settings.calls.on_end);
    flag("on_instant", settings.calls.on_instant);
    bool doubles = false;
    flag("doubles", doubles);
    settings.correction = doubles ? Correction::kDouble : Correction::kRequested;
    if (options.contains("interval"))
        settings.interval = nb::cast<Time>(options["interval"]);
    return settings;
}

/// Return a second, None for never.
std::optional<Time> second_or_none(Time second) {
    return second == kFar ? std::nullopt : std::optional(second);
}

using EventTuple = std::tuple<Time, std::int64_t, std::int64_t, Row>;

std::vector<Event> events_of(const Matrix &rows) {
    std::vector<Event> events;
    for (std::size_t i = 0; i < rows.shape(0); ++i) {
        const std::int64_t *row = rows.data() + 4 * i;
        events.push_back({row[0], static_cast<Phase>(row[1]), row[2], row[3]});
    }
    return events;
}

std::vector<std::int64_t> copied(const Matrix &matrix) {
    return {matrix.data(), matrix.data() + matrix.size()};
}

void bind_dispatchers(const nb::module_ &module) {
    using nb::arg;
    nb::class_<NativeDispatcher>(module, "NativeDispatcher",
                                 "A dispatcher that the event loop asks without Python.");
    nb::class_<FifoDispatcher, NativeDispatcher>(module, "FifoDispatcher",
                                                 "First come, first served.")
        .def(
            "__init__",
            [](FifoDispatcher *self, std::int64_t allocator, const Matrix &capacity,
               const Matrix &levels) {
                new (self) FifoDispatcher(static_cast<Allocator>(allocator), copied(capacity),
                                          static_cast<int>(capacity.shape(1)), copied(levels));
            },
            arg("allocator"), arg("capacity"), arg("levels"));
    nb::class_<EasyDispatcher, NativeDispatcher>(module, "EasyDispatcher",
                                                 "EASY backfilling in order of submission.")
        .def(
            "__init__",
            [](EasyDispatcher *self, std::int64_t allocator, const Matrix &capacity,
               const Matrix &levels, bool prefers) {
                new (self) EasyDispatcher(static_cast<Allocator>(allocator), copied(capacity),
                                          static_cast<int>(capacity.shape(1)), copied(levels),
                                          prefers ? EasyRule::kEasy : EasyRule::kPlain);
            },
            arg("allocator"), arg("capacity"), arg("levels"), arg("prefers"));
    nb::class_<GreedyDispatcher, NativeDispatcher>(module, "GreedyDispatcher",
                                                   "In order of priority, every job that fits.")
        .def(
            "__init__",
            [](GreedyDispatcher *self, std::int64_t allocator, const Matrix &capacity,
               const Matrix &levels, Time largest_wait, const Doubles &demand) {
                new (self) GreedyDispatcher(static_cast<Allocator>(allocator), copied(capacity),
                                            static_cast<int>(capacity.shape(1)), copied(levels),
                                            largest_wait, demand.data());
            },
            arg("allocator"), arg("capacity"), arg("levels"), arg("largest_wait"), arg("demand"),
            nb::keep_alive<1, 6>());
}

void bind_recorders(const nb::module_ &module) {
    using nb::arg;
    nb::class_<NativeObserver>(module, "NativeObserver",
                               "An observer that the event loop tells without Python.");
    nb::class_<AllocationRecorder, NativeObserver>(
        module, "AllocationRecorder", "Writes down every allocation as contiguous ranges of nodes.")
        .def(
            "__init__",
            [](AllocationRecorder *self, int num_resources, nb::object grow) {
                const auto memory = [grow](std::int64_t needed) {
                    const nb::gil_scoped_acquire gil;
                    const auto rows = nb::cast<WritableMatrix>(grow(needed));
                    return std::pair(rows.data(), static_cast<std::int64_t>(rows.shape(0)));
                };
                new (self) AllocationRecorder(num_resources, memory);
            },
            arg("num_resources"), arg("grow"))
        .def_rw("used", &AllocationRecorder::used, "The number of rows written.")
        .def(
            "add",
            [](AllocationRecorder &self, Row row, Time now, const Ints &node, const Ints &tasks,
               const Matrix &amount) {
                self.on_start(row, RangesOfNodes(node, tasks, amount).ranges(), now);
            },
            arg("row"), arg("now"), arg("node"), arg("tasks"), arg("amount"),
            "Write down an allocation.");
    nb::class_<DecisionRecorder, NativeObserver>(
        module, "DecisionRecorder", "Keeps how long each decision took, and counts starts.")
        .def(nb::init<>())
        .def(
            "take",
            [](DecisionRecorder &self) {
                const std::int64_t starts = std::exchange(self.starts, 0);
                return nb::make_tuple(moved(std::exchange(self.seconds, {})), starts);
            },
            "Return the seconds of each decision and the number of starts, and begin anew.");
}

} // namespace

void bind_simulation(const nb::module_ &module) {
    using nb::arg;
    bind_dispatchers(module);
    bind_recorders(module);
    const nb::exception<RefusedStart> refused_start(module, "RefusedStart");
    using Self = PythonSimulation;
    nb::class_<Self> simulation(module, "Simulation", "The event loop of a simulation.");
    simulation.def(
        "__init__",
        [](Self *self, nb::handle owner, PythonCluster &cluster, const nb::dict &columns,
           const WritableInts &start, const WritableInts &end, const WritableInts &outcome,
           const nb::dict &settings) {
            new (self) Self(owner, cluster, columns, start, end, outcome, settings_of(settings));
        },
        arg("owner"), arg("cluster"), arg("columns"), arg("start"), arg("end"), arg("outcome"),
        arg("settings"), nb::keep_alive<1, 3>());
    simulation.def("set_dispatcher", &Self::set_dispatcher, arg("dispatcher").none(),
                   "Decide by a native dispatcher, or by the owner's _dispatch.");
    simulation.def("add_observer", &Self::add_observer, arg("observer"), "Tell a native observer.");
    simulation.def(
        "forget", [](Self &self) { self.simulation.forget(); },
        "Have the native dispatcher look at the whole state again.");
    simulation.def(
        "advance", &Self::advance, arg("until"), arg("seconds"),
        "Go on for some seconds of real time, to the last instant before `until`; return 0 if\n"
        "nothing is left to happen, 1 if `until` is reached, 2 if time is over.");
    simulation.def(
        "instant", [](Self &self, Time now) { self.simulation.instant(now); }, arg("now"),
        "Do what happens at a second.");
    simulation.def(
        "next_time", [](Self &self) { return second_or_none(self.simulation.next_time()); },
        "Return the next second at which something happens; None: never.");
    simulation.def(
        "push",
        [](Self &self, Time time, std::int64_t phase, Row row) {
            self.simulation.push(time, static_cast<Phase>(phase), row);
        },
        arg("time"), arg("phase"), arg("row"), "Put an event into those to come.");
    simulation.def(
        "started", [](Self &self, Row row) { self.simulation.started(row); }, arg("row"),
        "Note a start that the cluster has made.");
    simulation.def(
        "push_end", [](Self &self, Row row, Time end) { self.simulation.push_end(row, end); },
        arg("row"), arg("end"), "Put a running job's new end into the events.");
    simulation.def(
        "forget_end", [](Self &self, Row row) { self.simulation.forget_end(row); }, arg("row"),
        "Remove a running job's end and its requests for another size from the events.");
    simulation.def(
        "finish",
        [](Self &self, Row row, std::int64_t outcome) {
            self.simulation.finish(row, static_cast<Outcome>(outcome));
        },
        arg("row"), arg("outcome"), "Write down how a job ended.");
    simulation.def(
        "fulfilled",
        [](Self &self, Row needed, std::int64_t type) {
            return self.simulation.fulfilled(needed, static_cast<Dependency>(type));
        },
        arg("needed"), arg("type"),
        "Return 1 if a dependency is fulfilled, 0 if not yet, -1 if it never will be.");
    simulation.def(
        "events",
        [](Self &self) {
            std::vector<EventTuple> events;
            for (const Event &event : self.simulation.events())
                events.emplace_back(event.time, static_cast<std::int64_t>(event.phase),
                                    event.counter, event.row);
            return events;
        },
        "Return the events to come, in order: second, phase, counter and row.");
    simulation.def(
        "set_events",
        [](Self &self, const Matrix &rows) { self.simulation.set_events(events_of(rows)); },
        arg("events"), "Replace the events to come.");
    simulation.def_prop_ro(
        "has_events", [](Self &self) { return self.simulation.has_events(); },
        "Whether an event is to come.");

    simulation.def_prop_rw(
        "now", [](Self &self) { return self.simulation.now; },
        [](Self &self, Time now) { self.simulation.now = now; }, "The second of the last instant.");
    simulation.def_prop_rw(
        "next_submit", [](Self &self) { return self.simulation.next_submit; },
        [](Self &self, Row row) { self.simulation.next_submit = row; },
        "The first job that has not been submitted.");
    simulation.def_prop_rw(
        "counter", [](Self &self) { return self.simulation.counter; },
        [](Self &self, std::int64_t counter) { self.simulation.counter = counter; },
        "How many events there have been.");
    simulation.def_prop_rw(
        "num_held", [](Self &self) { return self.simulation.num_held; },
        [](Self &self, std::int64_t count) { self.simulation.num_held = count; },
        "The number of jobs that are held.");
    simulation.def_prop_rw(
        "tick", [](Self &self) { return second_or_none(self.simulation.tick); },
        [](Self &self, std::optional<Time> tick) { self.simulation.tick = tick.value_or(kFar); },
        nb::for_setter(arg("tick").none()),
        "The second of the dispatch grid at which the dispatcher is asked next; None: none.");
    simulation.def_prop_rw(
        "next_node_change",
        [](Self &self) { return second_or_none(self.simulation.next_node_change); },
        [](Self &self, std::optional<Time> second) {
            self.simulation.next_node_change = second.value_or(kFar);
        },
        nb::for_setter(arg("second").none()),
        "The next second at which nodes go down or come up; None: never.");
    simulation.def_prop_rw(
        "is_over", [](Self &self) { return self.simulation.is_over; },
        [](Self &self, bool is_over) { self.simulation.is_over = is_over; },
        "Whether nothing that the dispatcher may still be asked makes a difference.");
}

} // namespace cpsched
