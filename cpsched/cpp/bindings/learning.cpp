#include "learning.h"

#include "../learning/episodes.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>

namespace cpsched {

namespace {

using Floats = nb::ndarray<nb::numpy, const float>;
using Flags = nb::ndarray<nb::numpy, const bool>;

void require(bool holds, const char *message) {
    if (!holds)
        throw std::invalid_argument(message);
}

template <class T = std::int64_t>
std::vector<T> copied(const Ints &array) {
    return {array.data(), array.data() + array.size()};
}

std::vector<Amount> copied(const Matrix &array) {
    return {array.data(), array.data() + array.size()};
}

PriorityRule rule_of(std::int64_t number) {
    require(number >= 0 && number <= static_cast<std::int64_t>(PriorityRule::kSmallestArea),
            "no rule has this number");
    return static_cast<PriorityRule>(number);
}

void make_jobs(PoolJobs *self, const Ints &submit, const Ints &runtime, const Ints &estimate,
               const Ints &requested_time, const Matrix &demand, const Ints &total) {
    const std::size_t size = submit.size();
    require(runtime.size() == size && estimate.size() == size && requested_time.size() == size &&
                demand.shape(0) == size,
            "all columns must be of the same jobs");
    require(total.size() > 0 && demand.shape(1) == total.size(), "an amount of each resource");
    for (std::size_t at = 0; at < demand.size(); ++at)
        require(demand.data()[at] >= 0 && demand.data()[at] <= total.data()[at % total.size()],
                "no job may need more than there is");
    new (self) PoolJobs(
        {copied(submit), copied(runtime), copied(estimate), copied(requested_time), copied(demand)},
        copied(total));
}

void make_options(EpisodeOptions *self, bool by_rule, bool only_fitting, bool may_wait,
                  bool backfills, std::int64_t behind, const std::vector<std::int64_t> &rules,
                  std::int64_t visible, std::int64_t measure) {
    require(visible >= 1 && !rules.empty(), "a job and a rule or more must be shown");
    require(measure >= 0 && measure <= static_cast<std::int64_t>(Measure::kResponseByArea),
            "no measure has this number");
    require(!by_rule || (!only_fitting && !may_wait), "rules go without these options");
    new (self) EpisodeOptions{};
    self->by_rule = by_rule;
    self->only_fitting = only_fitting;
    self->may_wait = may_wait;
    self->backfills = backfills;
    self->behind = rule_of(behind);
    for (const std::int64_t rule : rules)
        self->rules.push_back(rule_of(rule));
    self->visible = visible;
    self->measure = static_cast<Measure>(measure);
}

void make_episodes(Episodes *self, const PoolJobs &jobs, const EpisodeOptions &options,
                   std::int64_t num_episodes, std::int64_t length, bool shows_system, bool is_dense,
                   std::optional<std::int64_t> relative_to) {
    require(num_episodes >= 1 && length >= 1 && length <= static_cast<std::int64_t>(jobs.size()),
            "a window must lie in the log");
    Episodes::Settings settings;
    settings.num_episodes = num_episodes;
    settings.length = length;
    settings.shows_system = shows_system;
    settings.is_dense = is_dense;
    if (relative_to)
        settings.relative_to = rule_of(*relative_to);
    new (self) Episodes(jobs, options, settings);
}

void check_first(const Episodes &self, Row first) {
    require(first >= 0 &&
                first + self.settings().length <= static_cast<std::int64_t>(self.jobs().size()),
            "a window must lie in the log");
}

void begin(Episodes &self, const Ints &which, const Ints &first) {
    require(which.size() == first.size(), "a row for each episode");
    for (std::size_t i = 0; i < which.size(); ++i) {
        require(which.data()[i] >= 0 && which.data()[i] < static_cast<std::int64_t>(self.size()),
                "there is no such episode");
        check_first(self, first.data()[i]);
    }
    const nb::gil_scoped_release released;
    self.begin(span(which), span(first));
}

auto step(Episodes &self, const Ints &actions) {
    require(actions.size() == self.size(), "an action for each episode");
    std::vector<double> rewards(self.size());
    {
        const nb::gil_scoped_release released;
        self.step(span(actions), {rewards.data(), rewards.size()});
    }
    std::vector<std::uint8_t> done;
    done.reserve(self.size());
    for (std::size_t number = 0; number < self.size(); ++number)
        done.push_back(self[number].is_done() ? 1 : 0);
    return std::pair(moved(std::move(rewards)), moved(std::move(done)));
}

double by_rule(Episodes &self, Row first, std::int64_t rule) {
    check_first(self, first);
    return self.by_rule(first, rule_of(rule));
}

const Episode &episode(const Episodes &self, std::int64_t number) {
    require(number >= 0 && number < static_cast<std::int64_t>(self.size()),
            "there is no such episode");
    return self[static_cast<std::size_t>(number)];
}

/// Return something of each episode.
template <class T, class Get>
auto of_each(const Episodes &self, Get get) {
    std::vector<T> values;
    values.reserve(self.size());
    for (std::size_t number = 0; number < self.size(); ++number)
        values.push_back(get(self[number]));
    return moved(std::move(values));
}

Floats rows_of(const Episodes &self) {
    return {self.rows().data(), {self.size(), self.options().num_rows(), kNumFeatures}};
}

Floats system_of(const Episodes &self) {
    return {self.system().data(), {self.size(), self.num_system_features()}};
}

Flags mask_of(const Episodes &self) {
    return {reinterpret_cast<const bool *>(self.mask().data()),
            {self.size(), self.options().num_actions()}};
}

/// Return the rows of an observation of jobs [0, n) of which some are shown.
auto observed_jobs(Time now, const Ints &shown, const Ints &submit, const Ints &estimate,
                   const Matrix &demand, const Ints &total, const Ints &free,
                   std::int64_t num_waiting, const Ints &expected_end, const Matrix &released,
                   std::int64_t num_rows, bool may_wait) {
    const std::size_t width = total.size();
    const auto count = static_cast<std::size_t>(num_rows);
    require(estimate.size() == submit.size() && demand.shape(0) == submit.size() &&
                demand.shape(1) == width && free.size() == width,
            "all columns must be of the same jobs and resources");
    require(released.shape(0) == expected_end.size() && released.shape(1) == width,
            "an amount for each running job and resource");
    require(num_rows >= 0 && shown.size() + (may_wait ? 1 : 0) <= count, "a row for each action");
    const std::vector<Amount> all = copied(total);
    PoolObservation pool(all);
    pool.begin(now, free.data(), num_waiting);
    for (std::size_t i = 0; i < expected_end.size(); ++i)
        pool.add_running(expected_end.data()[i], released.data() + i * width);
    std::vector<float> rows(count * kNumFeatures, 0);
    float *row = rows.data();
    for (const std::int64_t job : span(shown)) {
        require(job >= 0 && job < static_cast<std::int64_t>(submit.size()), "there is no such job");
        const Amount *needs = demand.data() + static_cast<std::size_t>(job) * width;
        const Time runtime = estimate.data()[job];
        pool.show_job(
            {submit.data()[job], runtime, needs, constant_features_of(runtime, needs, all)}, row);
        row += kNumFeatures;
    }
    if (may_wait)
        pool.show_wait(rows.data() + (count - 1) * kNumFeatures);
    return moved(std::move(rows), count, static_cast<std::size_t>(kNumFeatures));
}

/// Return the keys of jobs under a rule.
auto rule_keys(std::int64_t rule, const Ints &submit, const Ints &estimate, const Matrix &demand,
               Time now) {
    require(estimate.size() == submit.size() && demand.shape(0) == submit.size() &&
                demand.shape(1) > 0,
            "all columns must be of the same jobs");
    std::vector<double> keys;
    keys.reserve(submit.size());
    for (std::size_t job = 0; job < submit.size(); ++job)
        keys.push_back(key_of(
            rule_of(rule),
            {submit.data()[job], estimate.data()[job], demand.data()[job * demand.shape(1)]}, now));
    return moved(std::move(keys));
}

} // namespace

void bind_learning(nb::module_ &module) {
    using namespace nb::literals;
    nb::class_<PoolJobs>(module, "PoolJobs", "The jobs of a log on a pool of each resource.")
        .def("__init__", &make_jobs, "submit"_a, "runtime"_a, "estimate"_a, "requested_time"_a,
             "demand"_a, "total"_a,
             "Take n jobs in order of submit; demand of shape (n, R), total of shape (R,).")
        .def("__len__", &PoolJobs::size);
    nb::class_<EpisodeOptions>(module, "EpisodeOptions",
                               "What an agent decides, and what happens behind its decision.")
        .def("__init__", &make_options, nb::kw_only(), "by_rule"_a, "only_fitting"_a, "may_wait"_a,
             "backfills"_a, "behind"_a, "rules"_a, "visible"_a, "measure"_a,
             "Take options; rules and measures by number.");
    nb::class_<Episodes>(module, "Episodes", "Episodes of one log that are stepped together.")
        .def("__init__", &make_episodes, nb::keep_alive<1, 2>(), "jobs"_a, "options"_a,
             nb::kw_only(), "num_episodes"_a, "length"_a, "shows_system"_a, "is_dense"_a,
             "relative_to"_a.none(), "Prepare E episodes with windows of some length.")
        .def("begin", &begin, "which"_a, "first"_a, "Begin episodes, each at a row of its own.")
        .def("step", &step, "actions"_a,
             "Let every episode that is not over act; return rewards and whether each is over.")
        .def("by_rule", &by_rule, "first"_a, "rule"_a,
             "Return the measure of a rule in the window from a row on.")
        .def("__len__", &Episodes::size)
        .def_prop_ro("rows", &rows_of, nb::rv_policy::reference_internal,
                     "What is shown of jobs, shape (E, A, F); a view.")
        .def_prop_ro("system", &system_of, nb::rv_policy::reference_internal,
                     "What is shown of the system, shape (E, S); a view.")
        .def_prop_ro("mask", &mask_of, nb::rv_policy::reference_internal,
                     "Which actions are possible, shape (E, A); a view.")
        .def_prop_ro(
            "cost",
            [](const Episodes &self) {
                return of_each<double>(self, [](const Episode &each) { return each.cost(); });
            },
            nb::rv_policy::automatic, "The measure of each episode so far, shape (E,).")
        .def_prop_ro(
            "first_row",
            [](const Episodes &self) {
                return of_each<Row>(self,
                                    [](const Episode &each) { return each.pool().first_row(); });
            },
            nb::rv_policy::automatic, "The first row of the window of each, shape (E,).")
        .def_prop_ro(
            "now",
            [](const Episodes &self) {
                return of_each<Time>(self, [](const Episode &each) { return each.pool().now(); });
            },
            nb::rv_policy::automatic, "The present second of each, shape (E,).")
        .def(
            "starts",
            [](const Episodes &self, std::int64_t number) {
                return moved(std::vector<Time>(episode(self, number).pool().starts()));
            },
            "number"_a, "Return when the jobs of a window have started, -1 for not yet.");
    module.def(
        "feature_names",
        [] { return std::vector<std::string>(kFeatureNames.begin(), kFeatureNames.end()); },
        "Return the names of the columns of an observation, in order.");
    module.def("observed_jobs", &observed_jobs, "now"_a, "shown"_a, "submit"_a, "estimate"_a,
               "demand"_a, "total"_a, "free"_a, "num_waiting"_a, "expected_end"_a, "released"_a,
               "num_rows"_a, "may_wait"_a,
               "Return the rows of an observation in which some jobs are shown, shape (A, F).\n\n"
               "Running jobs are in order of their expected ends.");
    module.def("rule_keys", &rule_keys, "rule"_a, "submit"_a, "estimate"_a, "demand"_a, "now"_a,
               "Return the keys of jobs under a rule; one with a smaller key goes first.");
}

} // namespace cpsched
