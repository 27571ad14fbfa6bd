// Waiting jobs by request and size, the jobs of each size in the order of the queue.
//
// Jobs of one request class with as many tasks and the same bounds on nodes fit together or not at
// all, and differ in how long they are expected to run. So a pass asks each size once whether it
// fits, and each size for its first job that is short enough. Needs a queue in the order of rows
// that only grows at its end; where a job comes back into the queue, all is cleared and added anew.
//
// Cost: O(1) to add a job but for the first of a size. The first short job of a size is found from
// the least durations of 64 jobs and of 64 times 64. Jobs that have left the queue are taken out
// when they are next met.
#pragma once

#include "free_nodes.h"
#include "job.h"

#include <array>
#include <map>

namespace cpsched {

class WaitingJobs {
  public:
    /// Forget all jobs.
    void clear();
    /// Add what is new in a queue, which is in the order of rows. Entries of jobs that do not wait
    /// any more are passed over.
    void add(const Job *jobs, Span<const Row> queue);
    /// Fill `sizes` with the numbers of those that have a job from a row on and may fit now, see
    /// `FreeNodes::may_fit`.
    void may_start(const Job *jobs, FreeNodes &free, Row from, std::vector<std::size_t> &sizes);
    /// Return the first waiting job of a size from a row on that takes no longer than `most`
    /// seconds; -1: none.
    Row first_from(const Job *jobs, std::size_t size, Row from, Time most);

  private:
    static constexpr std::size_t kBlock = 64;

    struct Size {
        std::int64_t request_id;
        std::int64_t tasks;
        std::int64_t nodes_min;
        std::int64_t nodes_max;
        /// The jobs from `front` on, and how long each is expected to run; kFar once it has left.
        std::vector<Row> rows;
        std::vector<Time> durations;
        /// The least duration of each 64 jobs, and of 64 times 64; never more than it is.
        std::vector<Time> least;
        std::vector<Time> least_of_blocks;
        std::size_t front = 0;
        bool is_active = false;
    };

    /// Return the number of a job's size, found or made.
    std::size_t size_of(const Job &job);
    void append(Size &size, Row row, Time duration) const;
    /// Take a job out that has left the queue.
    void take_out(Size &size, std::size_t at) const;
    /// Take out those at the front that have left the queue; says whether any job is left.
    bool has_jobs(const Job *jobs, Size &size) const;
    /// Return the first place from one on with a duration of at most `most`.
    std::size_t first_place(const Size &size, std::size_t from, Time most) const;

    std::vector<Size> sizes_;
    std::map<std::array<std::int64_t, 4>, std::size_t> size_at_;
    std::vector<std::size_t> active_; // sizes that have jobs, by request and tasks
    Row added_until_ = 0;             // jobs of smaller rows have been added
};

} // namespace cpsched
