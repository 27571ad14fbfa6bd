#include "priority_rules.h"

#include <algorithm>
#include <cmath>

namespace cpsched {

double key_of(PriorityRule rule, const RankedJob &job, Time now) {
    const auto runtime = static_cast<double>(std::max<Time>(job.estimate, 1));
    const auto waited = static_cast<double>(now - job.submit);
    const Amount cores = std::max<Amount>(job.amount, 1);
    switch (rule) {
    case PriorityRule::kFifo:
        return 0;
    case PriorityRule::kShortest:
        return static_cast<double>(job.estimate);
    case PriorityRule::kLongest:
        return -static_cast<double>(job.estimate);
    case PriorityRule::kSlowdown:
        return -(waited + runtime) / runtime;
    case PriorityRule::kWfp3: {
        const double ratio = waited / runtime;
        return -(ratio * ratio * ratio) * static_cast<double>(job.amount);
    }
    case PriorityRule::kUnicef:
        if (cores > 1)
            return -waited / (std::log2(static_cast<double>(cores)) * runtime);
        // Serial jobs that have waited go first.
        return waited > 0 ? -1e8 - waited / runtime : 0;
    case PriorityRule::kF1:
        return std::log10(runtime) * static_cast<double>(cores) +
               8.70e2 * std::log10(static_cast<double>(std::max<Time>(job.submit, 1)));
    case PriorityRule::kSmallestArea:
        return static_cast<double>(job.estimate * cores);
    }
    return 0;
}

} // namespace cpsched
