// Rules that rank a queue: fixed functions of what is known of a job.
//
// Sources: WFP3 and UNICEF, Tang et al. 2009 ("Fault-aware, utility-based job scheduling on Blue
// Gene/P systems"); F1, Carastan-Santos and de Camargo 2017 ("Obtaining dynamic scheduling policies
// with simulation and machine learning", table 3); the rules as RLScheduler (Zhang et al. 2020) has
// them.
#pragma once

#include "../types.h"

namespace cpsched {

/// The numbers are those of cpsched/gym/options.py.
enum class PriorityRule : std::uint8_t {
    kFifo = 0,
    kShortest = 1,
    kLongest = 2,
    kSlowdown = 3,
    kWfp3 = 4,
    kUnicef = 5,
    kF1 = 6,
    kSmallestArea = 7,
};

/// What rules know of a job; `amount` is what it takes of the first resource.
struct RankedJob {
    Time submit;
    Time estimate;
    Amount amount;
};

/// Return the key of a job; one with a smaller key goes first, of equal ones that which came first.
double key_of(PriorityRule rule, const RankedJob &job, Time now);

} // namespace cpsched
