// Slurm in one run: what it knows between two decisions, and what a decision does.
//
// After "man slurm.conf" and Slurm's pages on priorities, limits and scheduling. A decision takes
// up what has happened (jobs have come, ended or been cancelled; usage is to be computed), then
// runs the passes that are due. What is modelled, and how closely, is in
// docs/background/slurm-model.md.
//
// Cost: what has happened since the last decision; a sort of the queue where priorities change; the
// passes (passes.h) that are due.
#pragma once

#include "job_templates.h"
#include "passes.h"
#include "priority.h"
#include "requests.h"
#include "timer.h"

#include <map>

namespace cpsched::slurm {

/// What a policy and a system say.
struct SlurmSetup {
    PrioritySettings priority;
    UsageSettings usage;
    TimerSettings timer;
    PassSettings passes;
    SlurmNodes nodes;
    NodeMasks partitions;
    Reservations reservations;
    ShareTree tree;
    /// Usage of each association before the beginning, and when usage is set back.
    std::vector<double> used;
    std::vector<Time> resets;
};

/// What a decision is about.
struct Present {
    Snapshot now;
    /// What each node has left, shape (N, R).
    const Amount *free = nullptr;
    /// How many rows of the job table are in use.
    Row num_jobs = 0;
    /// Rows of the waiting jobs, ascending.
    Span<const Row> waiting;
    /// How often a job came back to the queue, or changed in it.
    std::int64_t reordered = 0;
    /// Whether a request class counts as new with the first job that asks for it: all are there
    /// from the beginning.
    bool brings_requests = false;
};

/// Finds out what the records of jobs are made of, by the rules of a policy.
class TemplateSource {
  public:
    virtual ~TemplateSource() = default;
    /// Add the templates of some jobs (SlurmScheduler::templates).
    virtual void learn(const std::vector<Row> &rows) = 0;
};

class SlurmScheduler {
  public:
    /// What goes on to another run; jobs are looked up again in the first decision of that.
    struct State {
        /// A record in a partition; those that wait come first, in order, then those that run.
        struct Kept {
            Row row;
            std::int64_t partition;
            Time since;
            std::int64_t priority;
            Time planned;
            Time begins;
            std::int64_t key;
        };
        std::vector<Kept> records;
        std::size_t num_queued = 0;
        std::size_t num_running = 0;
        std::map<Row, std::int64_t> attempts;
        std::vector<Time> rests;
        Usage::State usage;
        PassTimer::State timer;
        Row num_known = 0;
        std::int64_t num_requests = 0;
        Time change = kFar;
        Time again_at = kFar;
        bool has_arrived = false;
    };

    explicit SlurmScheduler(SlurmSetup setup);
    SlurmScheduler(const SlurmScheduler &) = delete;
    SlurmScheduler &operator=(const SlurmScheduler &) = delete;
    SlurmScheduler(SlurmScheduler &&) = delete;
    SlurmScheduler &operator=(SlurmScheduler &&) = delete;
    ~SlurmScheduler() = default;

    /// Take over the request classes and masks, shape (C, N), of decisions to come.
    void look_at(const RequestTable &requests, const std::uint8_t *eligible,
                 std::int64_t num_masks);
    /// Do the same where classes, and with them perhaps masks, have come, and none has changed.
    void take_new_requests(const RequestTable &requests, const std::uint8_t *eligible,
                           std::int64_t num_masks) {
        requests_.take_new(requests, eligible, num_masks);
    }
    /// Forget what jobs are alike; if `renumbered`, the numbers of request classes mean others.
    void forget_templates(bool renumbered);
    /// Note that something has changed besides jobs: which nodes are eligible.
    void note_change() { timer_.note_change(); }

    /// Decide once; what starts is in `passes`.
    void decide(const Present &present, TemplateSource &source);
    /// When there is something to do again for the jobs that wait, kFar for never.
    Time again_at() const { return again_at_; }
    /// The records that the last decision has started: those of the main pass first.
    const std::vector<std::size_t> &started() const { return started_; }

    /// Return the priorities of jobs that arrive now.
    std::vector<std::int64_t> priorities(const Present &present, Span<const Row> rows,
                                         TemplateSource &source);
    /// Return the first counter of a job's limits that is exceeded, -1 if it may start in one of
    /// its partitions.
    std::int64_t held_by(Row row) const;
    /// Return the first counter that keeps a record from starting, -1 if none does.
    std::int64_t exceeded(std::size_t record) const {
        return limits_.exceeded(records_[record].limit_set, records_.amounts(record));
    }
    /// The passes that were due in the last decision.
    PassTimer::Due due() const { return due_; }
    /// Return the queue as the last decision has seen it, what it has started included.
    std::vector<std::size_t> ranking() const;

    State state() const;
    void restore(State state);
    /// Whether no decision has come since `restore`.
    bool is_restored() const { return is_restored_; }
    /// Say whether only starts are of interest from now on, and no plans.
    void set_only_starts(bool only_starts) { setup_.passes.only_starts = only_starts; }

    const SlurmPasses &passes() const { return passes_; }
    const Records &records() const { return records_; }
    const Queue &queue() const { return queue_; }
    const PassTimer &timer() const { return timer_; }
    const Usage &usage() const { return usage_; }
    JobTemplates &templates() { return templates_; }
    SlurmRequests &requests() { return requests_; }
    Limits &limits() { return limits_; }

  private:
    void compute_usage(Time now);
    /// Let jobs that do not run any more count no more.
    void end_jobs(const Present &present);
    void take_new(const Present &present, TemplateSource &source);
    /// Find out which jobs left the queue, came back to it or were started by others.
    void compare(const Present &present, TemplateSource &source);
    void release_claimed(const Present &present, const std::vector<Row> &waiting);
    void take_up_running(const Present &present, TemplateSource &source);
    void look_again(const Job *jobs);
    /// Note reservations that begin or end; says whether jobs that rested may start again.
    bool note_changes(Time now);
    void run_passes(const Present &present);
    void note_starts(Time now);
    Time next_decision(Time now) const;

    /// Return the records of a job, whose age counts from a second on if they are made now.
    RecordRange take(const Present &present, Row row, Time since, TemplateSource &source);
    void enqueue(const Present &present, Row row, TemplateSource &source);
    /// Put a job into the queue that was not in it, or is there again.
    void come_back(const Present &present, Row row, TemplateSource &source);
    /// Take a job out of the queue, in all its partitions.
    void take_out(Row row);
    void run_on(std::size_t record);
    void count(std::size_t record, std::int64_t sign) {
        limits_.count(records_[record].limit_set, records_.amounts(record), sign);
    }
    void rebuild(const Present &present, TemplateSource &source);

    SlurmSetup setup_;
    Usage usage_;
    PassTimer timer_;
    Limits limits_;
    JobTemplates templates_;
    SlurmRequests requests_;
    Records records_;
    SlurmPasses passes_;
    Queue queue_;
    std::vector<std::size_t> running_; // records, in any order
    std::vector<std::size_t> started_;
    PassTimer::Due due_ = {0, false};
    std::vector<Time> rests_; // when jobs that were queued again may start
    std::map<Row, std::int64_t> attempts_;
    /// Records of jobs that others make room for: they wait, but count in their limits.
    std::map<Row, std::size_t> claimed_;
    std::size_t num_waiting_ = 0; // jobs in the queue
    Row num_known_ = 0;           // rows of the job table that have been looked at
    std::int64_t num_requests_ = 0;
    std::int64_t reordered_ = 0;
    bool has_arrived_ = false; // whether a job has since the last decision
    Time change_ = kFar;       // when a reservation begins or ends next
    Time again_at_ = kFar;
    State restored_;
    bool is_restored_ = false;
};

} // namespace cpsched::slurm
