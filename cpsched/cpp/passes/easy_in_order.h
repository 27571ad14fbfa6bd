// EASY backfilling in order of submission, from decision to decision.
//
// It starts what `EasyPass` would start, and keeps what it knows for the next decision:
//
// 1. Waiting jobs by request and size (waiting_jobs.h): each size is asked once whether it fits.
// 2. The reservation is sought only where a later job may fit now.
// 3. Where nothing but new jobs has come since the previous pass, those before them cannot start.
// 4. When jobs end and others are backfilled, the head can start earlier than reserved but not
//    later; and the less has ended by then, the less is left for others. So the last reservation
//    bounds the present one, and a pass ends where no job is within these bounds.
// 5. The second of the reservation stays as it is while too little is free in all just before it.
//
// All but 1 and 2 end when something else changes: see `forget`. 4 and 5 do not hold for a head
// whose tasks cannot be placed one by one, as it may fit on less and not on more.
//
// Cost: O(1) for a new job that does not fit; otherwise a look at each size that waits, and where a
// job may be backfilled that of the reservation.
#pragma once

#include "../waiting_jobs.h"
#include "backfilling.h"

namespace cpsched {

class EasyInOrder {
  public:
    EasyInOrder(PassContext &context, EasyRule rule)
        : context_(context), backfilling_(context), rule_(rule) {}

    /// Run over a queue in the order of rows that is all that waits; it may have entries of jobs
    /// that do not wait any more. The caller has begun a pass, and says between passes what happens
    /// apart from new jobs at the end of the queue.
    void run(Span<const Row> queue);
    /// A job has left nodes, each with an amount of each resource, which it was expected to leave
    /// at a second.
    void freed(std::int64_t num_nodes, const Amount *amount, Time expected_end);
    /// Something else has changed than what this pass has started itself.
    void forget() {
        is_quiet_ = false;
        bound_.head = -1;
    }
    /// The queue has changed elsewhere than at its end, or is another one.
    void forget_queue() {
        forget();
        waiting_.clear();
    }

  private:
    /// The next job of a size.
    struct NextOfSize {
        Row row;
        std::size_t size;
        bool tries_short;
        bool tries_long;

        bool operator<(const NextOfSize &other) const { return row > other.row; } // of a heap
    };
    /// Bounds of the reservation that hold until another job is the head.
    struct Bound {
        Row head = -1; // -1: nothing is known
        Time time = 0; // it starts no later
        // So much of each resource is left at most when it does, and is free at most just before
        // that time.
        std::vector<Amount> left;
        std::vector<Amount> before;
    };

    /// Try only jobs that have come since the previous pass; says whether that is enough.
    bool try_new(Span<const Row> queue);
    void try_all(Span<const Row> queue);
    /// Say whether some job behind a head may start by what is known of the reservation.
    bool may_backfill(Row head);
    bool reserve(Row head);
    void note_bound(const Request &head);
    /// Start jobs of `sizes_`, from a row on, that do not delay the reservation.
    void backfill(Row from);
    void push_next(NextOfSize next, Row from);
    /// Take what others have started off the bounds; `total` is what was left for them.
    void lower_bounds(const std::vector<Amount> &total);

    PassContext &context_;
    Backfilling backfilling_;
    EasyRule rule_;
    WaitingJobs waiting_;
    bool is_quiet_ = false;     // whether nothing has happened since but new jobs
    Row head_ = -1;             // the first job that does not fit
    Row tried_until_ = 0;       // jobs of smaller rows cannot start
    bool is_reserved_ = false;  // whether the reservation is that of `head_`
    std::size_t num_heads_ = 0; // the starts of the present pass before the reservation
    Bound bound_;
    std::vector<std::size_t> sizes_; // those that may fit now
    std::vector<NextOfSize> next_;   // a heap of the next job of each size
};

} // namespace cpsched
