// A window of a log on a pool of each resource: jobs arrive, wait, run and end.
//
// The order of events at a second is that of a simulation (simulation.h): jobs end, jobs arrive,
// and running jobs whose expected end has passed are expected later, as `Cluster::correct_overdue`
// says. A Cluster of one node does the same, but its job table has 328 bytes for each job of the
// window: hundreds of episodes that are stepped in turn would read them all from main memory, at
// half the speed. This keeps 24 bytes for each waiting or running job.
//
// Cost: O(log B + B) for each job that starts or ends, with B running or waiting.
#pragma once

#include "pool_jobs.h"

namespace cpsched {

class PoolRun {
  public:
    /// A running job.
    struct Running {
        Time expected_end;
        Row row;
        Time start;

        bool operator<(const Running &other) const {
            return expected_end != other.expected_end ? expected_end < other.expected_end
                                                      : row < other.row;
        }
    };

    /// The jobs must outlive this.
    explicit PoolRun(const PoolJobs &jobs) : jobs_(jobs), free_(jobs.total()) {}

    /// Begin with an empty pool; the jobs [first, end) are still to come.
    void begin(Row first, Row end);
    /// Return the next second at which something happens, kFar for never.
    Time next_time() const;
    /// Let jobs end and arrive at a second, the next one.
    void advance(Time second);
    /// Start a waiting job that fits.
    void start(Row row);

    Time now() const { return now_; }
    Row first_row() const { return first_; }
    /// The jobs before this row have arrived.
    Row arrived() const { return arrived_; }
    /// In order of submit.
    const std::vector<Row> &waiting() const { return waiting_; }
    /// By expected end, then by row.
    const std::vector<Running> &running() const { return running_; }
    const Amount *free() const { return free_.data(); }
    bool fits_now(Row row) const { return fits(jobs_.demand(row), free(), free_.size()); }
    /// Fill with what is free now and after the expected end of each running job.
    void fill(PooledAvailability &availability) const;
    /// By position in the window: when jobs have started, -1 for not yet.
    const std::vector<Time> &starts() const { return starts_; }

  private:
    struct End {
        Time time;
        Row row;
    };
    static bool is_later(const End &a, const End &b) {
        return a.time != b.time ? a.time > b.time : a.row > b.row;
    }

    void end(Row row);
    void enter_running(const Running &job);
    void correct_overdue();

    const PoolJobs &jobs_;
    Time now_ = 0;
    Row first_ = 0;
    Row end_ = 0;
    Row arrived_ = 0;
    std::vector<Amount> free_;
    std::vector<Row> waiting_;
    std::vector<Running> running_;
    std::vector<End> ends_; // a heap, the next one first
    std::vector<Time> starts_;
};

} // namespace cpsched
