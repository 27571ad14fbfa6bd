// The event loop of a simulation: integer seconds, events in order of (time, phase, counter).
//
// At one instant jobs end, nodes go down and come up, jobs are cancelled, submitted and released;
// then the dispatcher is asked, again and again until no event is left at that instant (a job of
// runtime 0 ends where it starts). A dispatcher, a runtime model, a predictor and observers may be
// native or Python's: the loop calls the latter through `Participants`, and where there are none no
// Python runs.
//
// Cost: O(log E) for each of E events to come, and what the dispatcher's decisions cost.
#pragma once

#include "cluster.h"
#include "pass.h"

#include <exception>

namespace cpsched {

/// No such second.
inline constexpr Time kMissing = INT64_MIN;

/// The order of events at one instant; the numbers are those of cpsched.simulation.simulator.Phase.
enum class Phase : std::int64_t {
    kEnd = 0,
    kNode = 1,
    kCancel = 2,
    kSubmit = 3,
    kRelease = 4,
    kCancelAfterSubmit = 5, // of jobs that arrive in the same second
    kResizeRequest = 6,
};

struct Event {
    Time time;
    Phase phase;
    std::int64_t counter; // breaks ties: first come, first served
    Row row;

    bool operator<(const Event &other) const {
        if (time != other.time)
            return time < other.time;
        return phase != other.phase ? phase < other.phase : counter < other.counter;
    }
};

/// How a job ended; the numbers are those of cpsched.model.schedule.JobOutcome.
enum class Outcome : std::int64_t {
    kNotEnded = -1,
    kCompleted = 0,
    kTimeout = 1,
    kCancelled = 2,
    kKilled = 4,
    kNeverStarted = 5,
};

/// What a job depends on; the numbers are those of cpsched.util.types.DependencyType.
enum class Dependency : std::int64_t { kAfterAny = 0, kAfterOk = 1, kAfterNotOk = 2, kAfter = 3 };

/// The jobs of a simulation by row, that is by handle: what the log says of them.
///
/// What nobody asks for may be empty: status where no predictor learns, cancel where no job is
/// cancelled, and what is below where no job is held.
struct FutureJobs {
    Span<const Time> submit; // never decreasing
    Span<const Time> runtime;
    Span<const Time> requested_time;
    Span<const std::int64_t> status;
    Span<const Time> begin;     // kMissing: at once
    Span<const Time> cancel;    // kMissing: never
    Span<const Row> dependency; // -1: none
    Span<const std::int64_t> dependency_type;
    Span<const std::uint8_t> failed; // whether it ends without success
    /// The jobs that depend on job i are dependents[first_dependent[i]:first_dependent[i + 1]].
    Span<const Row> dependents;
    Span<const std::int64_t> first_dependent;
};

/// Jobs [first, end) as the job table takes them, kSubmitColumns numbers each.
struct JobBlock {
    Row first = 0;
    Row end = 0;
    const std::int64_t *rows = nullptr;
    /// Whether a job brings a request class or string that no job before it had.
    const std::uint8_t *brings = nullptr;
};

/// Who takes part in a simulation from outside of the core. What is not asked for is not called.
class Participants {
  public:
    virtual ~Participants() = default;
    /// Return a block with a job in it; all jobs of its second are in the block.
    virtual JobBlock block(Row row) = 0;
    /// Make known the request classes and strings of the jobs before one.
    virtual void bring(Row end) = 0;
    /// Estimate the runtimes of jobs that are submitted.
    virtual void predict(Row first, Row end, Time now) = 0;
    /// Ask the dispatcher and carry out what it decides; say whether to ask again at once.
    virtual bool dispatch(Time now) = 0;
    /// Return when a job that has just started will end; `again`: it was cut short before.
    virtual Time end_of_start(Row row, Time now, bool again) = 0;
    /// Say whether a job that ends now is ended at its requested time.
    virtual bool ends_at_limit(Row row) = 0;
    /// Take the second after which an evolving job asks for another size into account.
    virtual void schedule_resize_request(Row row, Time end) = 0;
    virtual void request_resize(Row row) = 0;
    /// Let nodes go down and come up; return the next second at which that happens, kFar for never.
    virtual Time change_nodes(Time now) = 0;
    /// Tell the predictor of a start, an end and a cancellation.
    virtual void predictor_on_start(Row row, Time now) = 0;
    virtual void predictor_on_end(Row row, Time runtime, std::int64_t status, bool killed,
                                  Time now) = 0;
    virtual void predictor_on_cancel(Row row, Time now) = 0;
    /// Tell observers.
    virtual void on_submit(Row first, Row end, Time now) = 0;
    virtual void on_start(Row row, Time now) = 0;
    virtual void on_end(Row row, Outcome outcome, Time now) = 0;
    virtual void on_instant(Time now) = 0;
    /// Throw if the user wants the program to end; called about every tenth of a second.
    virtual void check_signals() = 0;
};

/// Which of them are asked or told.
struct Calls {
    bool predict = false;
    bool work = false; // end_of_start and ends_at_limit
    bool evolve = false;
    bool predictor_on_start = false;
    bool predictor_on_end = false;
    bool predictor_on_cancel = false;
    bool on_submit = false;
    bool on_start = false;
    bool on_end = false;
    bool on_instant = false;
};

/// A native dispatcher: decides on the state of a cluster.
class NativeDispatcher {
  public:
    virtual ~NativeDispatcher() = default;
    /// Take over the whole state; called before the first decision, and after changes from outside.
    virtual void look_at(Cluster &cluster) = 0;
    /// Request classes have come, and with them perhaps masks of nodes; none has changed.
    virtual void tables_changed(Cluster &cluster) = 0;
    /// A job has come into the queue elsewhere than at its end, or asks for something else.
    virtual void queue_changed(Cluster &cluster) = 0;
    /// A job has left its nodes.
    virtual void freed(const Cluster &cluster, Row row, const AllocationRanges &nodes) = 0;
    /// Decide what starts now.
    virtual const Starts &decide(Cluster &cluster, Time now) = 0;
    /// When to ask again, whatever happens until then; kFar: only if something does.
    virtual Time again_at() const { return kFar; }
};

/// A native observer.
class NativeObserver {
  public:
    virtual ~NativeObserver() = default;
    virtual void on_start(Row row, const AllocationRanges &allocation, Time now) = 0;
    virtual void on_decision(double seconds, std::int64_t num_starts) = 0;
};

/// A native dispatcher has started a job that cannot start so.
struct RefusedStart : std::exception {
    RefusedStart(Row refused, Refusal reason) : row(refused), refusal(reason) {}
    const char *what() const noexcept override { return "a start is refused"; }
    Row row;
    Refusal refusal;
};

class Simulation {
  public:
    struct Settings {
        /// Whether a job that reaches its requested time is ended there.
        bool kills = true;
        /// Seconds of the dispatch grid; 0: a dispatch at every instant with an event.
        Time interval = 0;
        bool has_holds = false;
        bool has_cancels = false;
        Calls calls;
        Correction correction = Correction::kRequested;
        bool acts_when_idle = false;
    };
    /// Results by row, written to.
    struct Results {
        Time *start;
        Time *end;
        std::int64_t *outcome;
    };
    /// Why `advance` returns.
    enum class Stop { kIdle, kUntil, kPaused };

    Simulation(Cluster &cluster, FutureJobs jobs, Results results, Settings settings,
               Participants &participants);

    /// Decide by this from now on; nullptr: ask `Participants::dispatch`.
    void set_dispatcher(NativeDispatcher *dispatcher);
    void add_observer(NativeObserver &observer) { observers_.push_back(&observer); }
    /// What the native dispatcher knows no longer holds.
    void forget() { is_known_ = false; }

    /// Go on for some seconds of real time, to the last instant before `until`.
    Stop advance(Time until, double seconds);
    /// Do what happens at a second, whether anything does or not.
    void instant(Time now);
    /// Return the next second at which something happens, kFar for never.
    Time next_time();

    // --- for who carries out what else happens
    // -----------------------------------------------------

    void push(Time time, Phase phase, Row row);
    /// Note a start that the cluster has made: its end is to come.
    void started(Row row);
    /// Put a running job's new end into the events.
    void push_end(Row row, Time end);
    /// Remove a running job's end and its size requests from the events.
    void forget_end(Row row);
    /// Write down how a job ended that has left its nodes or the queue, and let go of those that
    /// waited for it.
    void finish(Row row, Outcome outcome);
    /// Say whether a dependency is fulfilled: 1, not yet: 0, or never will be: -1.
    int fulfilled(Row needed, Dependency type) const;
    /// End the jobs whose end is at this second.
    void end_jobs();

    // --- state
    // -------------------------------------------------------------------------------------

    Time now = 0;
    Row next_submit = 0;
    std::int64_t counter = 0;
    std::int64_t num_held = 0;
    /// The second of the dispatch grid at which the dispatcher is asked next; kFar: none.
    Time tick = kFar;
    /// The next second at which nodes change; kFar: never.
    Time next_node_change = kFar;
    /// Whether nothing that the dispatcher may still be asked makes a difference.
    bool is_over = false;
    std::vector<Event> events() const;
    void set_events(std::vector<Event> events);
    bool has_events() const { return !events_.empty(); }
    /// The jobs that will be killed at their requested time, of those whose work is native.
    bool is_killed(Row row) const {
        return settings_.kills && jobs_.runtime[at(row)] > jobs_.requested_time[at(row)];
    }

  private:
    static std::size_t at(std::int64_t position) { return static_cast<std::size_t>(position); }
    Time cancel_of(Row row) const {
        return jobs_.cancel.empty() ? kMissing : jobs_.cancel[at(row)];
    }
    std::int64_t status_of(Row row) const {
        return jobs_.status.empty() ? -1 : jobs_.status[at(row)];
    }
    bool is_next(Time second) const { return !events_.empty() && events_.front().time == second; }
    Event pop();
    void handle(const Event &event);
    void submit();
    bool hold(Row row);
    void release(Row row);
    void release_dependents(Row row);
    void cancel(Row row);
    void end(Row row);
    void kill(Row row);
    void leave(Row row, std::int64_t status, bool killed);
    bool maybe_dispatch();
    bool dispatch_natively();
    void change_nodes();

    Cluster &cluster_;
    FutureJobs jobs_;
    Results results_;
    Settings settings_;
    Participants &participants_;
    NativeDispatcher *dispatcher_ = nullptr;
    /// Whether the dispatcher has looked at the cluster, and at which counts of its changes.
    bool is_known_ = false;
    std::int64_t reordered_ = 0;
    std::int64_t changes_ = 0;
    std::vector<NativeObserver *> observers_;
    std::vector<Event> events_; // a heap, the next one first
    JobBlock block_;
};

} // namespace cpsched
