// Waiting jobs by class: jobs that are alike in all that says whether they fit, how long for, and
// how a priority may rank them apart from their time of submission.
//
// Jobs of one class behind one that does not fit do not fit either. So a pass asks each class that
// waits, and not each job: its cost grows with the number of distinct jobs, not of jobs.
//
// Where the queue is in the order of rows and only grows at its end, the waiting jobs of each class
// can be linked. A pass then does not even read the queue: the first job of a class starts first,
// and classes that differ only in their runtimes are asked once whether they fit. Where a job comes
// back into the queue, everything is cleared and linked anew.
#pragma once

#include "free_nodes.h"
#include "job.h"
#include "types.h"

#include <array>
#include <map>
#include <unordered_map>

namespace cpsched {

/// What jobs of one class have in common, and what the present pass knows of them.
struct JobClass {
    std::int64_t request_id;
    std::int64_t tasks;
    std::int64_t nodes_min;
    std::int64_t nodes_max;
    Time expected_wait;
    Time ranking_estimate;
    Time runtime_estimate;
    /// The pass in which a job of the class was found not to fit.
    std::int64_t refused_in = 0;
    /// How many more jobs of it are worth ranking, and in which pass they were counted.
    std::int64_t left = 0;
    std::int64_t counted_in = 0;
    /// Its first and last waiting job, where jobs are linked; -1: none.
    Row first = -1;
    Row last = -1;
};

/// The classes of all jobs seen, found once for each job.
class JobClasses {
  public:
    /// Forget everything, links too.
    void clear();
    /// Return the number of the class of a job.
    std::int32_t class_of(const Job *jobs, Row row);
    JobClass &operator[](std::int32_t number) { return classes_[static_cast<std::size_t>(number)]; }
    std::size_t size() const { return classes_.size(); }

    /// Note that a job is not to be tried any more in a pass: it has started or has a reservation.
    void settle(Row row, std::int64_t pass);
    bool is_settled(Row row, std::int64_t pass) const {
        const auto at = static_cast<std::size_t>(row);
        return at < settled_in_.size() && settled_in_[at] == pass;
    }

    /// Link what is new in a queue, which is in the order of rows, behind the others of its class.
    /// Entries of jobs that do not wait any more are passed over.
    void link(const Job *jobs, Span<const Row> queue);
    /// Fill `rows` with the linked jobs that could start now on their own, in the order of rows.
    ///
    /// No more of a class than fit together. May include jobs that do not fit, see
    /// `FreeNodes::may_fit`.
    void may_start(const Job *jobs, FreeNodes &free, std::vector<Row> &rows);

  private:
    using Key = std::array<std::int64_t, 7>;
    struct Hash {
        std::size_t operator()(const Key &key) const;
    };

    /// The classes of one request and size that have linked jobs: whether these may start is asked
    /// once for all of them.
    struct Size {
        std::vector<std::int32_t> classes;
    };

    /// Return the size of a class, found or made.
    Size &size_of(const JobClass &job_class);
    /// Add the first jobs of a class that may start, no more than `left`.
    void add_first(const Job *jobs, const JobClass &job_class, std::int64_t pass, std::int64_t left,
                   std::vector<Row> &rows) const;
    /// Return the first job from a linked one on that waits and is not settled; -1: none.
    Row next_waiting(const Job *jobs, std::int64_t pass, Row row) const;
    /// Unlink the jobs at the front of a class that have left the queue; says whether any is left.
    bool unlink_front(const Job *jobs, JobClass &job_class) const;

    std::vector<JobClass> classes_;
    std::vector<std::int32_t> class_of_;   // by row, -1 where it is not known yet
    std::vector<std::int64_t> settled_in_; // by row: the pass in which it was settled
    std::vector<Row> next_;                // by row: the next waiting job of the class; -1: none
    std::vector<Size> sizes_;              // in the order in which they were first linked
    std::map<std::array<std::int64_t, 4>, std::size_t> size_at_;
    Row linked_until_ = 0; // jobs of smaller rows are linked
    std::unordered_map<Key, std::int32_t, Hash> numbers_;
};

} // namespace cpsched
