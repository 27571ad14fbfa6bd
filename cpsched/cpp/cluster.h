// The state of a cluster: which jobs wait, which run where, and what is free.
//
// A job enters nodes by `start` and leaves them by `leave`, whatever the reason. Nothing here reads
// a clock or decides anything. The job table belongs to the caller, who says where it is.
//
// Cost: a start or an end moves at most the running jobs that end later (a memmove) and touches the
// job's nodes; a job that leaves the middle of the queue is taken out when the queue is next read.
#pragma once

#include "job.h"
#include "nodes.h"
#include "pass.h"
#include "ranged_amounts.h"
#include "shared_array.h"

#include <map>
#include <set>
#include <utility>

namespace cpsched {

/// What is wrong with an allocation that a job is given.
enum class Fault : std::int64_t {
    kNone = 0,
    kNode,     // no such node, or not in increasing order
    kTasks,    // not the number of tasks that the job may have; position 0: in total
    kEligible, // the job may not use the node, or it is down
    kBounds,   // too few or too many nodes
    kSplit,    // not the same number of tasks on each node
    kGap,      // nodes that do not follow each other
    kAmount,   // not what the job asks for
    kFree,     // more than is free
    kShape,    // arrays that do not belong together
};

/// A refused start; position (the place of a node in the allocation) and resource where they
/// matter.
struct Refusal {
    Fault fault = Fault::kNone;
    std::int64_t position = 0;
    int resource = 0;
};

/// The nodes of one job as K contiguous ranges, with as many tasks and as much of each resource on
/// every node of a range; amounts have the shape (K, R).
struct AllocationRanges {
    const std::int64_t *first;
    const std::int64_t *num_nodes;
    const std::int64_t *tasks;
    const Amount *amount;
    std::int64_t count;
};

/// The nodes of all running jobs: ranges as above.
struct AllocationTable {
    const std::int64_t *first;
    const std::int64_t *num_nodes;
    const Amount *amount;
};

/// Where a running job's end is expected once its prediction has passed.
enum class Correction : std::int64_t { kRequested = 0, kDouble = 1 };

class Cluster {
  public:
    /// capacity of shape (N, R), in order of nodes.
    Cluster(std::int64_t num_nodes, int num_resources, std::vector<Amount> capacity);

    // --- what belongs to the caller --------------------------------------------------------------

    void set_jobs(Job *jobs) { jobs_ = jobs; }
    void set_requests(const std::int64_t *rows, std::int64_t count) {
        requests_ = RequestTable(rows, count, num_resources_);
    }
    /// The nodes that are up and that each class of jobs may use, shape (C, N).
    void set_eligible(const std::uint8_t *masks, std::int64_t num_classes) {
        eligible_ = masks;
        num_classes_ = num_classes;
    }

    Job &job(Row row) const { return jobs_[row]; }
    const Job *jobs() const { return jobs_; }
    const RequestTable &requests() const { return requests_; }
    const std::uint8_t *eligible() const { return eligible_; }
    std::int64_t num_classes() const { return num_classes_; }
    std::int64_t num_nodes() const { return num_nodes_; }
    int num_resources() const { return num_resources_; }

    // --- the queue -------------------------------------------------------------------------------

    std::int64_t num_waiting() const { return num_waiting_; }
    /// The rows of the waiting jobs in order of submission.
    Span<const Row> waiting();
    /// The same, with entries of jobs that do not wait any more, no more than wait: so a start from
    /// the middle of a long queue does not move it.
    Span<const Row> queue();
    /// Put a job at its place in the queue.
    void enqueue(Row row);
    /// Put a job that was held, or that ran, at its place in the queue.
    void return_to_queue(Row row);
    /// Take a waiting job out of the queue, in another state.
    void dequeue(Row row, JobState state);
    /// Put a running job back into the queue, with one more attempt.
    void requeue(Row row);
    /// Replace the queue.
    void set_queue(Span<const Row> rows);

    // --- running jobs ----------------------------------------------------------------------------

    std::int64_t num_running() const { return num_running_; }
    /// Rows of the running jobs by (expected end, row).
    Span<const Row> running() const {
        return {running_.data(), static_cast<std::size_t>(num_running_)};
    }
    /// Give a waiting job nodes, unless that is refused; then nothing has changed.
    Refusal start(Row row, const AllocationRanges &allocation, Time now);
    /// The same for a placement, with the amounts that the job asks for.
    Refusal start(Row row, Span<const NodeSpan> placement, Time now);
    /// Give a running job other nodes, which may overlap with what it has, unless that is refused.
    ///
    /// It is expected to end as much later or earlier as its speed changes, and later by its
    /// resize_cost.
    Refusal resize(Row row, const AllocationRanges &allocation, Time now);
    /// Undo a start in the same second: the job waits again where it did.
    void undo_start(Row row);
    /// Take a running job off its nodes; it counts as ended until set otherwise.
    void leave(Row row);
    /// Expect a running job at another end than so far.
    void expect_end(Row row, Time end);
    bool is_overdue(Time now) const {
        return num_running_ > 0 && jobs_[running_[0]].expected_end <= now;
    }
    /// Expect running jobs later whose expected end has passed; never before now + 1.
    void correct_overdue(Correction correction, Time now);
    /// The nodes of a running job; until the next start.
    AllocationRanges allocation(Row row) const;
    /// Those of all running jobs, found by alloc_first and alloc_count of each.
    AllocationTable allocation_table() const {
        return {allocated_first_.data(), allocated_nodes_.data(), allocated_amount_.data()};
    }

    // --- nodes -----------------------------------------------------------------------------------

    /// What each node has left, shape (N, R); nothing on nodes that are down. Until the next
    /// change.
    const Amount *free() { return free_array().data(); }
    const std::vector<Amount> &capacity() const { return capacity_; }
    /// Set which nodes are down; all others are up.
    void set_down(const std::vector<std::int64_t> &nodes);
    bool has_down() const { return !down_.empty(); }
    std::vector<std::int64_t> down() const;

    // --- when the dispatcher is asked
    // --------------------------------------------------------------

    /// The second of the last report.
    Time reported_at = 0;
    /// Whether anything has happened since the dispatcher was last asked.
    bool has_news = false;
    /// Seconds at which the dispatcher asked to be asked.
    std::set<Time> wakes;
    /// Note when the limit of switches of a job that may start from now on passes.
    void await_switches(Row row, Time now);
    /// Whether a job's limit of switches will pass.
    bool awaits_switches() const { return !switch_ends.empty(); }
    /// Allow a job any number of switches from now on.
    void relax_switches(Row row);
    /// Say whether the dispatcher is to be asked: something has happened, or it asked for it.
    bool is_due(Time now);
    /// The next second at which the dispatcher is to be asked whatever happens until then; kFar:
    /// none.
    Time next_wake();
    /// When the limit of switches of each job passes.
    std::set<std::pair<Time, Row>> switch_ends;
    /// The jobs for which it has passed.
    std::set<Row> relaxed;

    /// How often a running job's end was expected at another second than before.
    std::int64_t corrections = 0;
    /// How often something has changed that no event of a simulation says: a node is down, a job
    /// was started, resized or taken off its nodes from outside.
    std::int64_t changes = 0;

    // --- progress
    // ----------------------------------------------------------------------------------

    /// Return how many seconds a running job has run, as on the tasks it prefers.
    Time ran(Row row, Time now) const;
    /// Seconds that jobs which were resized had run before, as on the tasks they prefer.
    std::map<Row, Time> ran_before;

    /// The number of jobs submitted so far.
    Row num_jobs = 0;
    /// How often a job came into the queue elsewhere than at its end, or changed while it waited.
    std::int64_t reordered = 0;

    // --- arrays that others look at
    // ----------------------------------------------------------------

    const SharedArray<Amount> &free_array();
    const SharedArray<Row> &running_array() const { return running_; }
    const SharedArray<Row> &queue_array() const { return queue_; }
    std::int64_t queue_first() const { return queue_first_; }
    const SharedArray<std::int64_t> &allocated_first_array() const { return allocated_first_; }
    const SharedArray<std::int64_t> &allocated_nodes_array() const { return allocated_nodes_; }
    const SharedArray<std::int64_t> &allocated_tasks_array() const { return allocated_tasks_; }
    const SharedArray<Amount> &allocated_amount_array() const { return allocated_amount_; }
    /// The first row of a job that waits or runs, `size` where none does.
    Row oldest(Row size);

  private:
    Refusal check(const Job &job, const AllocationRanges &allocation) const;
    Refusal check_range(const Job &job, const AllocationRanges &allocation, std::int64_t k) const;
    Refusal check_alike(const Job &job, std::int64_t first, std::int64_t tasks,
                        const Amount *amount) const;
    Refusal take(Row row, const AllocationRanges &allocation, Time now);
    std::int64_t reserve_allocation(std::int64_t count);
    void enter_running(Row row, Time end);
    void leave_running(Row row);
    std::int64_t place_by_end(Row row, Time end) const;
    void leave_front();
    void compact_queue();
    void compact_allocations();
    void allocate(std::int64_t k, std::int64_t first, std::int64_t num_nodes, std::int64_t tasks,
                  const Amount *amount);
    /// Add amounts to what is free on nodes, or with -1 take them off.
    void change_free(std::int64_t first, std::int64_t num_nodes, const Amount *amount, int sign);
    void hide_down();

    std::int64_t num_nodes_;
    int num_resources_;
    std::vector<Amount> capacity_;
    Job *jobs_ = nullptr;
    RequestTable requests_;
    const std::uint8_t *eligible_ = nullptr;
    std::int64_t num_classes_ = 0;

    RangedAmounts free_;
    RangeStarts alike_; // ranges of nodes of equal capacity
    std::vector<Amount> change_;
    /// The same by node, and the ranges that have changed since it was last looked at.
    SharedArray<Amount> free_by_node_;
    std::vector<std::pair<std::int64_t, std::int64_t>> changed_;
    /// What each node that is down would have free if it were up.
    std::map<std::int64_t, std::vector<Amount>> down_;

    /// The queue is [queue_first_, queue_end_); jobs in it that do not wait count as taken out.
    SharedArray<Row> queue_;
    std::int64_t queue_first_ = 0;
    std::int64_t queue_end_ = 0;
    std::int64_t num_waiting_ = 0;

    SharedArray<Row> running_;
    std::int64_t num_running_ = 0;

    /// The allocations of all running jobs, found by alloc_first and alloc_count: ranges of nodes.
    SharedArray<std::int64_t> allocated_first_;
    SharedArray<std::int64_t> allocated_nodes_;
    SharedArray<std::int64_t> allocated_tasks_;
    SharedArray<Amount> allocated_amount_;
    std::int64_t allocated_end_ = 0; // behind the last allocation
    std::int64_t num_allocated_ = 0; // of entries that a running job holds
};

/// Return how many parts of its work a job does in a second on some tasks (Amdahl; see
/// cpsched/model/speedup.py), and how many are a second on those it prefers.
std::int64_t parts_per_second(std::int64_t tasks, std::int64_t preferred, std::int64_t serial);
std::int64_t parts_of_second(std::int64_t preferred, std::int64_t serial);
/// Return in how many seconds a job does on some tasks what takes `seconds` on those it prefers.
Time seconds_on(std::int64_t tasks, Time seconds, std::int64_t preferred, std::int64_t serial);

} // namespace cpsched
