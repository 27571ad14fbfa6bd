// The cost of a job's wait: its bounded slowdown, and a penalty for a very long wait.
#pragma once

#include "types.h"

namespace cpsched {

/// Return what a job's wait costs: its bounded slowdown, and ten times the fourth power of what the
/// wait is of `aging`.
double job_cost(double wait, double runtime, double aging);

/// Return by how much the penalty for a long wait grows with a second, for a job that takes an area
/// of the system.
double overdue_slope(double wait, double area, double aging);

/// Return the sum of `job_cost` over a plan; a job that never starts (-1) costs most.
double plan_cost(Span<const Time> start, Span<const Time> duration, Span<const Time> submit,
                 double aging);

} // namespace cpsched
