// When Slurm's passes are due.
//
// After "man slurm.conf" and Slurm's page "Scheduling Configuration Guide". A main pass over the
// first jobs comes at once when a job ends, and within batch_sched_delay after one was submitted;
// one over all jobs every sched_interval; a backfill pass as soon as bf_interval is over since the
// last. None comes where nothing has happened that could make a difference.
#pragma once

#include "settings.h"

namespace cpsched::slurm {

class PassTimer {
  public:
    /// What changes; seconds are kFar for never.
    struct State {
        Time after_end = kFar;    // when the pass after a job's end is due
        Time after_submit = kFar; // and that after a submit
        Time full = kFar;         // a pass over all jobs
        Time backfill = kFar;
        Time last = -kFar;              // when the last main pass was
        Time last_after_submit = -kFar; // and the last that did not follow from an end
        Time last_backfill = -kFar;
        bool has_changed = false; // something has, without a known second of the next pass
    };
    /// The passes that are due.
    struct Due {
        std::int64_t depth; // how many jobs a main pass considers; 0: none is due
        bool backfills;
    };

    explicit PassTimer(TimerSettings settings) : settings_(settings) {}

    const TimerSettings &settings() const { return settings_; }
    const State &state() const { return state_; }
    void restore(const State &state) { state_ = state; }

    /// Note that something has changed that passes go by.
    void note_change() { state_.has_changed = true; }
    /// Note that a job has ended, or a reservation has begun or ended.
    void note_end(Time now);
    /// Note whether jobs have arrived, and when passes over all jobs are due.
    void note(bool arrived, Time now);
    /// Return what is due now, which counts as done.
    Due take_due(std::size_t num_queued, Time now);
    /// Return the first second after now at which a pass is due, kFar for never.
    Time next(Time now) const;

  private:
    void note_submit(Time now);

    TimerSettings settings_;
    State state_;
};

} // namespace cpsched::slurm
