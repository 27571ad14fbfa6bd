// Usage, shares and limits of Slurm for Python.
#include "slurm.h"

#include "../slurm/limits.h"

#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

namespace cpsched {

using namespace slurm;
using namespace nb::literals;

nb::dict usage_state(const Usage::State &state) {
    nb::dict saved;
    saved["raw"] = moved(std::vector<double>(state.raw));
    saved["rate"] = moved(std::vector<double>(state.rate));
    saved["fair_share"] = moved(std::vector<double>(state.fair_share));
    std::vector<std::int64_t> numbers{state.computed, state.next,
                                      static_cast<std::int64_t>(state.resets)};
    std::vector<double> billing;
    std::vector<std::int64_t> starts;
    for (const Usage::Late &one : state.late) {
        starts.insert(starts.end(), {one.association, one.start});
        billing.push_back(one.billing);
    }
    saved["late"] = moved(std::move(starts), state.late.size(), 2);
    saved["late_billing"] = moved(std::move(billing));
    saved["times"] = moved(std::move(numbers));
    return saved;
}

Usage::State usage_state_of(const nb::dict &saved) {
    Usage::State state;
    state.raw = copied(nb::cast<Doubles>(saved["raw"]));
    state.rate = copied(nb::cast<Doubles>(saved["rate"]));
    state.fair_share = copied(nb::cast<Doubles>(saved["fair_share"]));
    const auto late = nb::cast<Matrix>(saved["late"]);
    const auto billing = nb::cast<Doubles>(saved["late_billing"]);
    for (std::size_t i = 0; i < late.shape(0); ++i)
        state.late.push_back({late.data()[2 * i], late.data()[2 * i + 1], billing.data()[i]});
    const auto times = nb::cast<Ints>(saved["times"]);
    state.computed = times.data()[0];
    state.next = times.data()[1];
    state.resets = static_cast<std::size_t>(times.data()[2]);
    return state;
}

namespace {

void bind_tree(const nb::module_ &module) {
    const auto usage_of = [](const Doubles &usage) { return copied(usage); };
    nb::class_<ShareTree>(module, "ShareTree",
                          "The tree of associations and their shares; the root first.")
        .def(nb::init<std::vector<std::int64_t>, const std::vector<std::int64_t> &,
                      const std::vector<bool> &>(),
             "parent"_a, "shares"_a, "is_user"_a)
        .def("__len__", &ShareTree::size)
        .def_prop_ro(
            "share_parent",
            [](const ShareTree &tree) {
                return nb::cast(moved(std::vector<std::int64_t>(tree.share_parent())));
            },
            "Whose child each counts as.")
        .def_prop_ro(
            "level_share", [](const ShareTree &tree) { return array_of(tree.level_share()); },
            "Each one's part of the shares of its siblings and itself.")
        .def_prop_ro(
            "norm_share", [](const ShareTree &tree) { return array_of(tree.norm_share()); },
            "The same times that of all accounts above it.")
        .def(
            "summed_up",
            [](const ShareTree &tree, const Doubles &amounts) {
                std::vector<double> sums = copied(amounts);
                tree.sum_up(sums);
                return moved(std::move(sums));
            },
            "amounts"_a, "Return amounts with those of all associations below added.")
        .def(
            "level_fair_share",
            [usage_of](const ShareTree &tree, const Doubles &usage) {
                return moved(tree.level_fair_share(usage_of(usage)));
            },
            "usage"_a, "Return the share among siblings over the part of their parent's usage.")
        .def(
            "fair_tree",
            [usage_of](const ShareTree &tree, const Doubles &usage) {
                return moved(tree.fair_tree(usage_of(usage)));
            },
            "usage"_a, "Return users' Fair Tree factors, 0 for accounts.")
        .def(
            "effective_usage",
            [usage_of](const ShareTree &tree, const Doubles &norm) {
                return moved(tree.effective_usage(usage_of(norm)));
            },
            "norm"_a, "Return one's own part of all usage, and a part of what siblings have used.")
        .def(
            "classic",
            [usage_of](const ShareTree &tree, const Doubles &effective, double dampening) {
                return moved(tree.classic(usage_of(effective), dampening));
            },
            "effective"_a, "dampening"_a,
            "Return ``2 ** (-(effective usage / share) / dampening)``.");
}

void bind_usage(const nb::module_ &module) {
    nb::class_<Usage>(module, "SlurmUsage", "The usage of associations, with decay.")
        .def(
            "__init__",
            [](Usage *self, const ShareTree &tree, const nb::dict &settings, const Doubles &used,
               const Ints &resets) {
                new (self) Usage(tree, usage_settings(settings), copied(used), copied(resets));
            },
            "tree"_a, "settings"_a, "used"_a, "resets"_a, nb::keep_alive<1, 2>())
        .def("start", &Usage::start, "association"_a, "billing"_a, "now"_a,
             "Charge a job from now on.")
        .def("end", &Usage::end, "association"_a, "billing"_a, "start"_a, "now"_a,
             "Charge a job that ends now.")
        .def("advance", &Usage::advance, "now"_a,
             "Do the computations that are due; return the second of the last.")
        .def_prop_ro(
            "raw", [](const Usage &usage) { return array_of(usage.state().raw); },
            "The usage of each association and all below it.")
        .def("state", [](const Usage &usage) { return usage_state(usage.state()); })
        .def(
            "restore",
            [](Usage &usage, const nb::dict &saved) { usage.restore(usage_state_of(saved)); },
            "saved"_a);
}

void bind_limits(const nb::module_ &module) {
    nb::class_<Limits>(module, "SlurmLimits", "Limits as counters with a maximum.")
        .def(nb::init<>())
        .def("add_counter", &Limits::add_counter, "most"_a, "stops"_a,
             "Add a counter; `stops`: whether a job over it may stop those behind it.")
        .def(
            "add_set",
            [](Limits &limits,
               const std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t, bool>>
                   &entries) {
                std::vector<Limits::Entry> set;
                set.reserve(entries.size());
                for (const auto &[counter, amount, factor, checked] : entries)
                    set.push_back({counter, amount, factor, checked});
                return limits.add_set(set);
            },
            "entries"_a, "Add what a job adds to: (counter, amount, factor, checked) each.")
        .def(
            "counter",
            [](const Limits &limits, std::int64_t number) {
                const Limits::Counter &counter = limits.counter(number);
                return nb::make_tuple(counter.used, counter.most, counter.stops);
            },
            "number"_a, "Return what is counted, the most that may be, and `stops`.")
        .def(
            "set",
            [](const Limits &limits, std::int64_t number) {
                nb::list entries;
                for (const Limits::Entry &entry : limits.set(number))
                    entries.append(nb::make_tuple(entry.counter, entry.amount, entry.factor,
                                                  entry.is_checked));
                return entries;
            },
            "number"_a, "Return what `add_set` was given.");
}

} // namespace

void bind_slurm_parts(const nb::module_ &module) {
    bind_tree(module);
    bind_usage(module);
    bind_limits(module);
}

} // namespace cpsched
