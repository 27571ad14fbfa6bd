#include "priority.h"

#include <algorithm>

namespace cpsched::slurm {

namespace {

/// The priority of the first job under priority/basic, as Slurm has it; and the highest of all.
constexpr std::int64_t kFirst = 4294901759;
constexpr double kMost = 4294967295.0;

double age_of(const Record &record, const PrioritySettings &settings, Time now) {
    const Time waited = std::max<Time>(now - record.since, 0);
    const double part =
        static_cast<double>(waited) / static_cast<double>(std::max<Time>(settings.max_age, 1));
    return settings.age * (waited < settings.max_age ? part : 1.0);
}

} // namespace

std::int64_t priority_of(const Record &record, const PrioritySettings &settings, const Usage &usage,
                         Time now, bool arrives) {
    if (settings.is_basic)
        return kFirst - record.row - record.nice;
    const double age = arrives && record.since == now ? 0.0 : age_of(record, settings, now);
    const FixedFactors &fixed = record.factors;
    // In Slurm's order: sums of the same numbers are cut off at the same.
    double total = age + fixed.association;
    total = total + settings.fair_share * usage.fair_share(record.association);
    total = total + fixed.job_size + fixed.partition + fixed.qos + fixed.rest;
    return static_cast<std::int64_t>(std::min(std::max(total, 1.0), kMost));
}

void prioritise(Record &record, const PrioritySettings &settings, const Usage &usage, Time now,
                bool arrives) {
    const std::int64_t priority = priority_of(record, settings, usage, now, arrives);
    record.priority = settings.only_rises ? std::max(priority, record.priority) : priority;
    record.key = -((record.standing << 32) + record.priority);
}

} // namespace cpsched::slurm
