// The job table: one record for every job that has been submitted.
//
// A record is 41 numbers of 64 bits in a row, so that NumPy reads the table as a matrix; the
// columns have the order of cpsched/model/columns.py, where each is documented.
#pragma once

#include "types.h"

namespace cpsched {

enum JobState : std::int64_t {
    kWaiting = 0,
    kStarting = 1,
    kRunning = 2,
    kCompleting = 3,
    kEnded = 4,
    kHeld = 5,
};

struct Job {
    // Known at submit.
    std::int64_t handle;
    Time submit;
    Time requested_time;
    std::int64_t tasks;
    std::int64_t request_id; // of the request class
    std::int64_t nodes_min;
    std::int64_t nodes_max;
    Time expected_wait; // of the job's queue; -1: none
    std::int64_t queue;
    std::int64_t user;
    std::int64_t name;
    std::int64_t group;
    Time not_before;
    Time switch_wait;
    std::int64_t restartable;
    std::int64_t job_type;
    std::int64_t tasks_min;
    std::int64_t tasks_max;
    std::int64_t serial; // millionths of the work
    Time resize_cost;
    std::int64_t urgent;
    Time deadline;
    std::int64_t qos;
    std::int64_t reservation;
    std::int64_t licenses;
    std::int64_t array;
    std::int64_t array_limit;
    std::int64_t nice;
    // Predicted runtimes.
    Time ranking_estimate;
    Time runtime_estimate;
    Time runtime_bound;
    // What becomes of it.
    std::int64_t attempts;
    Time ran;
    std::int64_t state; // JobState
    Time start;
    Time expected_end;
    std::int64_t held_tasks;
    Time since;
    std::int64_t wanted_tasks;
    std::int64_t alloc_first;
    std::int64_t alloc_count;
};

/// Columns of a job that are known at submit.
inline constexpr std::int64_t kSubmitColumns = 31;
inline constexpr std::int64_t kJobColumns = 41;
static_assert(sizeof(Job) == kJobColumns * sizeof(std::int64_t), "a job is a row of a matrix");

} // namespace cpsched
