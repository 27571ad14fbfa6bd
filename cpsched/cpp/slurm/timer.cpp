#include "timer.h"

#include <algorithm>

namespace cpsched::slurm {

void PassTimer::note_end(Time now) {
    state_.has_changed = true;
    if (settings_.defers) {
        note_submit(now);
        return;
    }
    const Time due = std::max(now + settings_.lag, state_.last + settings_.least);
    state_.after_end = std::min(state_.after_end, due);
}

void PassTimer::note_submit(Time now) {
    const Time due = std::max(now + settings_.lag, state_.last_after_submit + settings_.delay);
    state_.after_submit =
        std::min(state_.after_submit, std::max(due, state_.last + settings_.least));
}

void PassTimer::note(bool arrived, Time now) {
    if (arrived) {
        state_.has_changed = true;
        note_submit(now);
    }
    if (!state_.has_changed)
        return;
    state_.has_changed = false;
    if (settings_.interval > 0) {
        // The next multiple of the interval.
        const Time interval = settings_.interval;
        const Time rest = ((now % interval) + interval) % interval;
        state_.full = std::min(state_.full, rest == 0 ? now : now - rest + interval);
    }
    if (settings_.backfill_interval > 0) {
        const Time due = std::max(now, state_.last_backfill + settings_.backfill_interval);
        state_.backfill = std::min(state_.backfill, due);
    }
}

PassTimer::Due PassTimer::take_due(std::size_t num_queued, Time now) {
    std::int64_t depth = 0;
    if (state_.full <= now)
        depth = kFar;
    else if (std::min(state_.after_end, state_.after_submit) <= now)
        depth = settings_.depth;
    if (depth > 0) {
        state_.last = now;
        if (state_.after_end > now || depth == kFar) {
            state_.last_after_submit = now;
            state_.after_submit = kFar;
        }
        state_.after_end = kFar;
        if (depth >= static_cast<std::int64_t>(num_queued))
            state_.full = kFar;
    }
    const bool backfills = state_.backfill <= now;
    if (backfills) {
        state_.backfill = kFar;
        state_.last_backfill = now;
    }
    return {depth, backfills};
}

Time PassTimer::next(Time now) const {
    const Time found = std::min(std::min(state_.after_end, state_.after_submit),
                                std::min(state_.full, state_.backfill));
    return found < kFar ? std::max(found, now + 1) : found;
}

} // namespace cpsched::slurm
