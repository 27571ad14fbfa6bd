#include "simulation.h"

#include <algorithm>
#include <chrono>

namespace cpsched {

namespace {

using Clock = std::chrono::steady_clock;

/// How the log says that jobs end which were cancelled, and that were ended at their limit.
constexpr std::int64_t kStatusCancelled = 5;
constexpr std::int64_t kStatusTimeout = 6;
/// Instants between two looks at the clock.
constexpr std::int64_t kInstants = 64;
constexpr std::chrono::milliseconds kBetweenSignals{100};

/// Order of the heap, in which the first event is the greatest.
bool is_later(const Event &a, const Event &b) {
    return b < a;
}

} // namespace

Simulation::Simulation(Cluster &cluster, FutureJobs jobs, Results results, Settings settings,
                       Participants &participants)
    : cluster_(cluster), jobs_(jobs), results_(results), settings_(settings),
      participants_(participants) {}

void Simulation::set_dispatcher(NativeDispatcher *dispatcher) {
    dispatcher_ = dispatcher;
    is_known_ = false;
}

// --- going on
// --------------------------------------------------------------------------------------

Simulation::Stop Simulation::advance(Time until, double seconds) {
    const Clock::time_point begin = Clock::now();
    Clock::time_point looked = begin;
    for (std::int64_t count = 1;; ++count) {
        const Time time = next_time();
        if (time == kFar)
            return Stop::kIdle;
        if (time >= until)
            return Stop::kUntil;
        instant(time);
        if (count % kInstants != 0 && seconds > 0)
            continue;
        const Clock::time_point present = Clock::now();
        if (present - looked >= kBetweenSignals) {
            participants_.check_signals();
            looked = present;
        }
        if (std::chrono::duration<double>(present - begin).count() >= seconds)
            return Stop::kPaused;
    }
}

Time Simulation::next_time() {
    Time time = events_.empty() ? kFar : events_.front().time;
    if (at(next_submit) < jobs_.submit.size())
        time = std::min(time, jobs_.submit[at(next_submit)]);
    if (time != kFar || !is_over)
        time = std::min({time, cluster_.next_wake(), tick});
    // With nothing left to happen, nodes matter only to jobs that wait.
    if (next_node_change < time && (time != kFar || cluster_.num_waiting() > 0))
        time = next_node_change;
    return time;
}

void Simulation::instant(Time second) {
    now = cluster_.reported_at = second;
    bool again = true;
    while (again || is_next(now)) {
        if (next_node_change == now)
            change_nodes();
        while (is_next(now) && events_.front().phase < Phase::kSubmit)
            handle(pop());
        if (at(next_submit) < jobs_.submit.size() && jobs_.submit[at(next_submit)] == now)
            submit();
        while (is_next(now))
            handle(pop());
        again = maybe_dispatch();
    }
    if (settings_.calls.on_instant)
        participants_.on_instant(now);
}

void Simulation::handle(const Event &event) {
    switch (event.phase) {
    case Phase::kEnd:
        end(event.row);
        break;
    case Phase::kRelease:
        release(event.row);
        break;
    case Phase::kResizeRequest:
        participants_.request_resize(event.row);
        break;
    default:
        cancel(event.row);
    }
}

void Simulation::change_nodes() {
    end_jobs();
    next_node_change = participants_.change_nodes(now);
    is_known_ = false;
}

void Simulation::end_jobs() {
    while (is_next(now) && events_.front().phase == Phase::kEnd)
        end(pop().row);
}

// --- events
// ----------------------------------------------------------------------------------------

void Simulation::push(Time time, Phase phase, Row row) {
    events_.push_back({time, phase, ++counter, row});
    std::push_heap(events_.begin(), events_.end(), is_later);
}

Event Simulation::pop() {
    std::pop_heap(events_.begin(), events_.end(), is_later);
    const Event event = events_.back();
    events_.pop_back();
    return event;
}

void Simulation::forget_end(Row row) {
    const auto is_forgotten = [row](const Event &event) {
        return event.row == row &&
               (event.phase == Phase::kEnd || event.phase == Phase::kResizeRequest);
    };
    events_.erase(std::remove_if(events_.begin(), events_.end(), is_forgotten), events_.end());
    std::make_heap(events_.begin(), events_.end(), is_later);
}

std::vector<Event> Simulation::events() const {
    std::vector<Event> sorted = events_;
    std::sort(sorted.begin(), sorted.end());
    return sorted;
}

void Simulation::set_events(std::vector<Event> events) {
    events_ = std::move(events);
    std::make_heap(events_.begin(), events_.end(), is_later);
}

// --- submit, hold, cancel
// --------------------------------------------------------------------------

void Simulation::submit() {
    const Row first = next_submit;
    Row last = first;
    while (at(last) < jobs_.submit.size() && jobs_.submit[at(last)] == now)
        ++last;
    bool brings = false;
    for (Row row = first; row < last; ++row) {
        if (row >= block_.end || row < block_.first)
            block_ = participants_.block(row);
        const std::int64_t *known = block_.rows + (row - block_.first) * kSubmitColumns;
        std::copy(known, known + kSubmitColumns, &cluster_.job(row).handle);
        brings = brings || block_.brings[row - block_.first] != 0;
    }
    next_submit = cluster_.num_jobs = last;
    if (brings) {
        participants_.bring(last);
        if (dispatcher_ != nullptr && is_known_)
            dispatcher_->tables_changed(cluster_);
    }
    for (Row row = first; row < last; ++row)
        cluster_.job(row).state = settings_.has_holds && hold(row) ? kHeld : kWaiting;
    if (settings_.calls.predict)
        participants_.predict(first, last, now);
    for (Row row = first; row < last; ++row) {
        if (cluster_.job(row).state == kHeld)
            continue;
        cluster_.enqueue(row);
        cluster_.await_switches(row, now);
    }
    cluster_.has_news = true;
    if (settings_.has_cancels)
        for (Row row = first; row < last; ++row)
            if (jobs_.cancel[at(row)] != kMissing)
                push(jobs_.cancel[at(row)],
                     jobs_.cancel[at(row)] > now ? Phase::kCancel : Phase::kCancelAfterSubmit, row);
    if (settings_.calls.on_submit)
        participants_.on_submit(first, last, now);
}

bool Simulation::hold(Row row) {
    const Row needed = jobs_.dependency[at(row)];
    const int met =
        needed < 0 ? 1 : fulfilled(needed, static_cast<Dependency>(jobs_.dependency_type[at(row)]));
    if (met < 0)
        push(now, Phase::kCancelAfterSubmit, row);
    else if (met > 0 && jobs_.begin[at(row)] > now)
        push(jobs_.begin[at(row)], Phase::kRelease, row);
    else if (met > 0)
        return false;
    ++num_held;
    return true;
}

int Simulation::fulfilled(Row needed, Dependency type) const {
    const auto outcome = static_cast<Outcome>(results_.outcome[needed]);
    if (outcome == Outcome::kNotEnded)
        return type == Dependency::kAfter && results_.start[needed] != kMissing ? 1 : 0;
    if (type != Dependency::kAfterOk && type != Dependency::kAfterNotOk)
        return 1;
    const bool failed = outcome != Outcome::kCompleted || jobs_.failed[at(needed)] != 0;
    return failed == (type == Dependency::kAfterNotOk) ? 1 : -1;
}

void Simulation::release_dependents(Row row) {
    const std::int64_t last = jobs_.first_dependent[at(row + 1)];
    for (std::int64_t i = jobs_.first_dependent[at(row)]; i < last; ++i) {
        const Row dependent = jobs_.dependents[at(i)];
        if (dependent < next_submit && cluster_.job(dependent).state == kHeld)
            push(now, Phase::kRelease, dependent);
    }
}

void Simulation::release(Row row) {
    if (cluster_.job(row).state != kHeld)
        return; // cancelled meanwhile
    --num_held;
    if (hold(row))
        return;
    cluster_.return_to_queue(row);
    cluster_.await_switches(row, now);
    cluster_.has_news = true;
}

void Simulation::cancel(Row row) {
    const std::int64_t state = cluster_.job(row).state;
    Outcome outcome = Outcome::kCancelled;
    if (state == kHeld) {
        --num_held;
        const Row needed = settings_.has_holds ? jobs_.dependency[at(row)] : -1;
        if (needed >= 0 && cancel_of(row) != now &&
            fulfilled(needed, static_cast<Dependency>(jobs_.dependency_type[at(row)])) < 0)
            outcome = Outcome::kNeverStarted;
        cluster_.job(row).state = kEnded;
    } else if (state == kWaiting) {
        cluster_.dequeue(row, kEnded);
    } else {
        if (state == kRunning && cancel_of(row) == now)
            kill(row);
        return;
    }
    cluster_.has_news = true;
    if (settings_.calls.predictor_on_cancel)
        participants_.predictor_on_cancel(row, now);
    finish(row, outcome);
}

// --- start, end
// ------------------------------------------------------------------------------------

void Simulation::started(Row row) {
    const Job &job = cluster_.job(row);
    const Time length = settings_.kills
                            ? std::min(jobs_.runtime[at(row)], jobs_.requested_time[at(row)])
                            : jobs_.runtime[at(row)];
    const Time end = settings_.calls.work ? participants_.end_of_start(row, now, job.attempts > 0)
                                          : now + length;
    push(end, Phase::kEnd, row);
    results_.start[row] = now;
    if (settings_.has_holds)
        release_dependents(row);
    if (settings_.calls.evolve)
        participants_.schedule_resize_request(row, end);
    for (NativeObserver *observer : observers_)
        observer->on_start(row, cluster_.allocation(row), now);
    if (settings_.calls.on_start)
        participants_.on_start(row, now);
}

void Simulation::push_end(Row row, Time end) {
    push(end, Phase::kEnd, row);
    if (settings_.calls.evolve)
        participants_.schedule_resize_request(row, end);
}

void Simulation::end(Row row) {
    const bool killed = settings_.calls.work ? participants_.ends_at_limit(row) : is_killed(row);
    leave(row, killed ? kStatusTimeout : status_of(row), killed);
    finish(row, killed ? Outcome::kTimeout : Outcome::kCompleted);
}

void Simulation::kill(Row row) {
    leave(row, kStatusCancelled, false);
    forget_end(row);
    if (settings_.calls.work)
        participants_.ends_at_limit(row);
    finish(row, Outcome::kKilled);
}

void Simulation::leave(Row row, std::int64_t status, bool killed) {
    const Time runtime = settings_.calls.predictor_on_end ? cluster_.ran(row, now) : 0;
    if (!cluster_.ran_before.empty())
        cluster_.ran_before.erase(row);
    const AllocationRanges nodes = cluster_.allocation(row);
    cluster_.leave(row);
    if (cluster_.has_down())
        is_known_ = false; // what it gives back to a node that is down is not free
    else if (dispatcher_ != nullptr && is_known_)
        dispatcher_->freed(cluster_, row, nodes);
    cluster_.has_news = true;
    if (settings_.calls.predictor_on_end)
        participants_.predictor_on_end(row, runtime, status, killed, now);
}

void Simulation::finish(Row row, Outcome outcome) {
    results_.outcome[row] = static_cast<std::int64_t>(outcome);
    results_.end[row] = now;
    if (settings_.has_holds)
        release_dependents(row);
    if (settings_.calls.on_end)
        participants_.on_end(row, outcome, now);
}

// --- dispatch
// --------------------------------------------------------------------------------------

bool Simulation::maybe_dispatch() {
    if (!cluster_.is_due(now))
        return false;
    if (settings_.interval > 0 && now % settings_.interval != 0) {
        tick = now + settings_.interval - now % settings_.interval;
        return false;
    }
    tick = kFar;
    if (dispatcher_ != nullptr)
        return dispatch_natively();
    return participants_.dispatch(now);
}

bool Simulation::dispatch_natively() {
    cluster_.has_news = false;
    if (cluster_.num_waiting() == 0 && !settings_.acts_when_idle)
        return false;
    cluster_.correct_overdue(settings_.correction, now);
    if (!is_known_ || cluster_.changes != changes_) {
        dispatcher_->look_at(cluster_);
        is_known_ = true;
        changes_ = cluster_.changes;
    } else if (cluster_.reordered != reordered_) {
        dispatcher_->queue_changed(cluster_);
    }
    reordered_ = cluster_.reordered;
    const Clock::time_point begin = Clock::now();
    const Starts &decision = dispatcher_->decide(cluster_, now);
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    if (dispatcher_->again_at() < kFar)
        cluster_.wakes.insert(dispatcher_->again_at());
    for (NativeObserver *observer : observers_)
        observer->on_decision(seconds, static_cast<std::int64_t>(decision.starts.size()));
    for (const Starts::Start &start : decision.starts) {
        const Refusal refusal = cluster_.start(start.row, decision.spans_of(start), now);
        if (refusal.fault != Fault::kNone)
            throw RefusedStart{start.row, refusal};
    }
    for (const Starts::Start &start : decision.starts)
        if (settings_.calls.predictor_on_start)
            participants_.predictor_on_start(start.row, now);
    for (const Starts::Start &start : decision.starts)
        started(start.row);
    return false;
}

} // namespace cpsched
