#include "costs.h"

#include <algorithm>
#include <cmath>

namespace cpsched {

namespace {

/// Runtimes below this many seconds count as this in the bounded slowdown.
constexpr double kTau = 10;
/// What a wait of `aging` costs, in units of bounded slowdown; grows with its fourth power.
constexpr double kOverdue = 10;
/// What a job costs that never starts.
constexpr double kNever = 1e12;

} // namespace

double job_cost(double wait, double runtime, double aging) {
    const double overdue = wait / aging;
    const double penalty = kOverdue * overdue * overdue * overdue * overdue;
    return std::max(1.0, (wait + runtime) / std::max(runtime, kTau)) + penalty;
}

double overdue_slope(double wait, double area, double aging) {
    const double overdue = wait / aging;
    return 4 * kOverdue * std::sqrt(area) * (overdue * overdue * overdue) / aging;
}

double plan_cost(Span<const Time> start, Span<const Time> duration, Span<const Time> submit,
                 double aging) {
    double total = 0;
    for (std::size_t j = 0; j < start.size(); ++j) {
        const auto wait = static_cast<double>(start[j] - submit[j]);
        total += start[j] < 0 ? kNever : job_cost(wait, static_cast<double>(duration[j]), aging);
    }
    return total;
}

} // namespace cpsched
