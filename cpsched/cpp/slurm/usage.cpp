#include "usage.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cpsched::slurm {

namespace {

std::size_t index(std::int64_t at) {
    return static_cast<std::size_t>(at);
}

} // namespace

Usage::Usage(const ShareTree &tree, UsageSettings settings, std::vector<double> used,
             std::vector<Time> resets)
    : tree_(tree), settings_(settings), resets_(std::move(resets)) {
    state_.raw = std::move(used);
    state_.rate.assign(tree.size(), 0.0);
    state_.fair_share.assign(tree.size(), 0.0);
    state_.next = settings.period;
    if (settings.counts)
        find_factors();
}

/// Return the usage of a number of seconds of a running job, for a billing of 1.
double Usage::weight(Time seconds) const {
    const auto length = static_cast<double>(seconds);
    return length * std::pow(settings_.decay, length);
}

void Usage::start(std::int64_t association, double billing, Time now) {
    if (!settings_.counts || association < 0)
        return;
    state_.rate[index(association)] += billing;
    if (now > state_.computed)
        state_.late.push_back({association, now, billing});
}

void Usage::forget_late(std::int64_t association, Time start, double billing) {
    const auto found = std::find_if(state_.late.begin(), state_.late.end(), [&](const Late &one) {
        return one.association == association && one.start == start && one.billing == billing;
    });
    if (found != state_.late.end())
        state_.late.erase(found);
}

void Usage::end(std::int64_t association, double billing, Time start, Time now) {
    if (!settings_.counts || association < 0)
        return;
    double &rate = state_.rate[index(association)];
    rate -= billing;
    // What rounding has left of it.
    if (std::abs(rate) < 1e-6 * std::max(billing, 1e-6))
        rate = 0.0;
    if (start > state_.computed)
        forget_late(association, start, billing);
    const double amount = billing * weight(now - std::max(start, state_.computed));
    for (std::int64_t at = association; at >= 0; at = tree_.parent(at))
        state_.raw[index(at)] += amount;
}

void Usage::set_back(Time now) {
    if (state_.resets == resets_.size() || now < resets_[state_.resets])
        return;
    std::fill(state_.raw.begin(), state_.raw.end(), 0.0);
    while (state_.resets < resets_.size() && resets_[state_.resets] <= now)
        ++state_.resets;
}

/// Let usage decay until a computation now, and charge what runs.
void Usage::charge_running(Time now) {
    const Time seconds = now - state_.computed;
    const double left = std::max(std::pow(settings_.decay, static_cast<double>(seconds)),
                                 std::numeric_limits<double>::min());
    const double whole = weight(seconds);
    std::vector<double> charge(tree_.size());
    for (std::size_t at = 0; at < tree_.size(); ++at) {
        state_.raw[at] *= left;
        charge[at] = state_.rate[at] * whole;
    }
    for (const Late &one : state_.late)
        charge[index(one.association)] += one.billing * (weight(now - one.start) - whole);
    state_.late.clear();
    tree_.sum_up(charge);
    for (std::size_t at = 0; at < tree_.size(); ++at)
        state_.raw[at] += charge[at];
    state_.computed = now;
}

Time Usage::advance(Time now) {
    Time at = state_.next;
    while (true) {
        if (settings_.counts) {
            set_back(at);
            charge_running(at);
        }
        if (at + settings_.period > now)
            break;
        at += settings_.period;
    }
    state_.next = at + settings_.period;
    if (settings_.counts)
        find_factors();
    return at;
}

void Usage::find_factors() {
    if (settings_.is_fair_tree) {
        state_.fair_share = tree_.fair_tree(state_.raw);
        return;
    }
    // Each association's part of all usage.
    std::vector<double> norm = state_.raw;
    const double all = state_.raw[0] == 0 ? 1.0 : state_.raw[0];
    for (double &part : norm)
        part = std::min(part / all, 1.0);
    state_.fair_share = tree_.classic(tree_.effective_usage(norm), settings_.dampening);
}

} // namespace cpsched::slurm
