// Slurm's multifactor priority, and the key by which its queue is sorted.
//
// After Slurm's page "Multifactor Priority Plugin" and "man slurm.conf". The factors that depend on
// the job alone are worked out in Python (cpsched/slurm/dispatch/priority.py); age and fair share
// change while it waits.
#pragma once

#include "record.h"
#include "settings.h"
#include "usage.h"

namespace cpsched::slurm {

/// Return a priority: a whole number, at least 1 (0: the job is held) and at most 2^32 - 1.
///
/// The age of a job that arrives, and whose age counts from now on, is 0.
std::int64_t priority_of(const Record &record, const PrioritySettings &settings, const Usage &usage,
                         Time now, bool arrives);

/// Work out a record's priority and key.
void prioritise(Record &record, const PrioritySettings &settings, const Usage &usage, Time now,
                bool arrives);

} // namespace cpsched::slurm
