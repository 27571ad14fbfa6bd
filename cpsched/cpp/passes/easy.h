// EASY backfilling: start heads of the queue, reserve for the first that does not fit, backfill.
//
// Lifka 1995 ("The ANL/IBM SP scheduling system"); Mu'alem and Feitelson 2001 ("Utilization,
// predictability, workloads, and user runtime estimates in scheduling the IBM SP2 with
// backfilling", section 2), on nodes instead of a processor count. The reservation is the first
// second at which the head can be placed, with that placement. A later job may start if it ends by
// then, or on what the reservation leaves free. A job that could not be placed even if all that
// runs had ended (nodes are down) is skipped as if it were not in the queue.
//
// Cost: classes of waiting jobs are tried, not jobs (job_classes.h). In order of submission, sizes
// are (waiting_jobs.h), the reservation is sought only where a later job may fit now, and where
// nothing but new jobs has come since the previous pass, those before them are not tried again.
#pragma once

#include "../waiting_jobs.h"
#include "extra_nodes.h"
#include "reservation.h"

namespace cpsched {

/// How the queue behind the first job that does not fit is backfilled; the numbers are those of
/// cpsched/dispatch/backfilling.py.
enum class EasyRule : std::int64_t {
    /// The reservation uses busy capacity first, as backfilled jobs use reserved capacity first.
    kEasy = 0,
    /// Without such a preference, as with the first of several reservations.
    kPlain = 1,
};

class EasyPass {
  public:
    explicit EasyPass(PassContext &context);

    /// Run over a queue, with `backfill` the same rows in the order in which they are backfilled.
    /// The caller has begun a pass (`FreeNodes::begin_pass`).
    void run(Span<const Row> queue, Span<const Row> backfill, EasyRule rule);
    /// The same of a queue in the order of rows that is all that waits, and may have entries of
    /// jobs that do not wait any more.
    ///
    /// `waiting` belongs to that queue. Between passes the caller says what happens apart from new
    /// jobs at the end of the queue, see `forget`.
    void run_in_order(Span<const Row> queue, WaitingJobs &waiting, EasyRule rule);
    /// A job has left nodes, each with an amount of each resource, which it was expected to leave
    /// at a second.
    void freed(std::int64_t num_nodes, const Amount *amount, Time expected_end);
    /// Something else has changed than what this pass has started itself.
    void forget() {
        is_quiet_ = false;
        bound_.head = -1;
    }

  private:
    /// The next job to try, and whether it ends by the second of the reservation.
    struct Candidate {
        std::size_t place; // in the rows that are tried; their number for none
        bool is_short;
    };
    /// The next job of a size.
    struct NextOfSize {
        Row row;
        std::size_t size;
        bool tries_short;
        bool tries_long;

        bool operator<(const NextOfSize &other) const { return row > other.row; } // of a heap
    };

    bool reserve(Row row);
    void begin_backfill();
    bool ends_in_time(const Request &request) const {
        return context_.now.now + request.duration <= reservation_.time();
    }
    bool start_behind(Row row, bool is_short);

    /// Start jobs until one does not fit, and reserve for it; says whether one does not.
    bool start_heads(Span<const Row> queue);
    /// Start jobs that do not delay the reservation.
    void backfill(Span<const Row> rows);
    Candidate next_candidate(Span<const Row> rows, std::size_t from);

    /// The same three in order of submission; `try_new` tries only jobs that have come since the
    /// previous pass, and says whether that is enough.
    bool try_new(Span<const Row> queue, WaitingJobs &waiting);
    void try_all(Span<const Row> queue, WaitingJobs &waiting);
    void backfill_sizes(Row from, WaitingJobs &waiting);
    bool may_backfill(Row head, WaitingJobs &waiting);
    void note_bound(const Request &head);
    void lower_bound(std::vector<Amount> total);
    void push_next(NextOfSize next, Row from, WaitingJobs &waiting);

    JobClass &class_of(Row row) {
        return context_.classes[context_.classes.class_of(context_.now.jobs, row)];
    }
    std::int64_t pass() const { return context_.free.pass(); }

    PassContext &context_;
    EasyRule rule_ = EasyRule::kEasy;
    Reservation reservation_;
    ExtraNodes extra_;
    Pieces pieces_;
    Placement placement_;

    /// Bounds of a reservation that hold until another job is the head.
    ///
    /// When jobs end and others are backfilled, the head can start earlier but not later than it
    /// could before; and the less has ended by then, the less is left beside it. Not for jobs whose
    /// tasks cannot be placed one by one: they may fit on less and not on more.
    struct Bound {
        Row head = -1; // -1: nothing is known
        Time time = 0; // it starts no later
        // So much of each resource is left at most when it does, and is free at most just before
        // that time.
        std::vector<Amount> left;
        std::vector<Amount> before;
    };

    // In order of submission: what is known for the next pass.
    bool is_quiet_ = false;     // whether nothing has happened since but new jobs
    Row head_ = -1;             // the first job that does not fit
    Row tried_until_ = 0;       // jobs of smaller rows cannot start
    bool is_reserved_ = false;  // whether `reservation_` is that of `head_`
    std::size_t num_heads_ = 0; // the starts of the present pass before the reservation
    Bound bound_;
    std::vector<std::size_t> sizes_; // those that may fit now
    std::vector<NextOfSize> next_;   // a heap of the next job of each size
};

} // namespace cpsched
