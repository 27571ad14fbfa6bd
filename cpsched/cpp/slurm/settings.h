// What slurm.conf says, in numbers: priorities, usage, when passes come and how far they go.
//
// Names in comments are those of slurm.conf and of its SchedulerParameters.
#pragma once

#include "../types.h"

namespace cpsched::slurm {

/// How priorities follow from age and shares; the other factors of a job never change.
struct PrioritySettings {
    bool is_basic = false;       // priority/basic: first come, first served
    bool only_rises = false;     // PriorityFlags=INCR_ONLY
    bool accrues_always = false; // PriorityFlags=ACCRUE_ALWAYS
    bool by_minutes = false;     // whether jobs differ by their time limit, see JobTemplates
    bool changes = false;        // whether priorities change while jobs wait
    double age = 0;              // PriorityWeightAge
    double fair_share = 0;       // PriorityWeightFairshare
    Time max_age = 0;            // PriorityMaxAge
    Time reserves_after = 0;     // bf_min_age_reserve
};

/// How usage counts.
struct UsageSettings {
    bool counts = false;       // whether priorities depend on usage at all
    bool is_fair_tree = false; // else the classic factors: PriorityFlags=NO_FAIR_TREE
    Time period = 1;           // PriorityCalcPeriod
    double decay = 1;          // what is left of usage after a second: PriorityDecayHalfLife
    double dampening = 1;      // FairShareDampeningFactor
};

/// When passes are due; see PassTimer.
struct TimerSettings {
    Time lag = 0;                // from an event to the main pass that it brings about
    bool defers = false;         // defer, defer_batch
    std::int64_t depth = 0;      // default_queue_depth
    Time delay = 0;              // batch_sched_delay
    Time interval = 0;           // sched_interval
    Time least = 0;              // sched_min_interval
    Time backfill_interval = -1; // bf_interval; -1: no backfill
};

/// How far passes go; kFar stands for no limit.
struct PassSettings {
    std::int64_t partition_depth = kFar;        // partition_job_depth
    std::int64_t most_starts = kFar;            // sched_max_job_start
    std::int64_t tested = kFar;                 // bf_max_job_test
    std::int64_t of_user = kFar;                // bf_max_job_user
    std::int64_t of_partition = kFar;           // bf_max_job_part
    std::int64_t of_user_in_partition = kFar;   // bf_max_job_user_part
    std::int64_t of_association = kFar;         // bf_max_job_assoc
    std::int64_t backfill_starts = kFar;        // bf_max_job_start
    std::int64_t array_reservations = kFar;     // bf_max_job_array_resv
    std::int64_t partition_reservations = kFar; // bf_job_part_count_reserve
    Time window = kFar;                         // bf_window, in seconds
    Time resolution = 1;                        // bf_resolution
    bool whole_nodes = true;                    // whether reservations keep whole nodes
    Time gap = 0;                               // from a job's end until another may begin there
    std::int64_t least_priority = -kFar;        // bf_min_prio_reserve
    bool limits_stop = false;                   // assoc_limit_stop
    Time ends_within = 0;                       // ends so close count as one; 0: none do
    Time ends_more = 0;                         // bf_window_linear; 0: twice as much each time
    bool tightest_node = false; // whether a job that fits on one node gets the fullest such node
    bool only_starts = false;   // whether planned starts are of no interest
};

} // namespace cpsched::slurm
