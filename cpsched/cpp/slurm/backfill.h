// Slurm's backfill scheduler: jobs in order of priority, each planned after those before it.
//
// After Slurm's page "Scheduling Configuration Guide" and "man slurm.conf", sched/backfill. A job
// is planned for the earliest time in which it fits for as long as it may run; if that is now, it
// starts, else its nodes are kept for it. bf_max_job_test jobs are looked at, fewer of each user,
// partition and association where that is set; a job that would begin after bf_window is not
// planned. Reservations begin and end at multiples of bf_resolution, and keep whole nodes: no other
// job may use what is left of them. A job that a limit holds is planned, too, if the limit may stop
// others.
//
// Where only starts matter, a pass ends as soon as no job that is left could start now, and does
// not plan those that cannot.
//
// Cost: a window search (windows.h) for each job that is planned.
#pragma once

#include "../passes/start_bounds.h"
#include "candidates.h"
#include "node_choice.h"

namespace cpsched::slurm {

class SlurmBackfill {
  public:
    /// All must outlive this; `profile` is free capacity over time.
    SlurmBackfill(PassInput &input, Availability &profile, Placer &first_fit, NodeChoice &choice,
                  std::int64_t num_partitions);

    /// Note which jobs could start now; the profile is what is free now. Says whether any could.
    bool begin(std::vector<std::size_t> jobs);
    /// Plan the jobs, and start those planned now; notes their nodes in `starts`.
    void run(Starts &starts);

    /// The records that the last pass looked at; when they are planned is written into them.
    const std::vector<std::size_t> &jobs() const { return candidates_.jobs(); }
    const std::vector<Started> &started() const { return started_; }
    void clear();

  private:
    /// Say whether no other job can start, or none may.
    bool is_over();
    /// Say whether the pass plans a job; count it if it does.
    bool looks_at(const Record &record);
    bool is_passed_over(const Record &record);
    void plan(std::size_t number, Starts &starts);
    /// Return the first segment in which a job fits, none if that is too late.
    std::optional<std::size_t> first_segment(Request request, bool may_wait);
    bool may_reserve(const Record &record);
    /// Start a job on the nodes in `pieces_`.
    void start(std::size_t number, const Request &request, Starts &starts);
    /// Keep the nodes in `pieces_` for a job that begins later.
    void reserve(const Record &record, const Request &request, std::size_t segment);
    void keep_nodes(Time from, Time until);
    /// Keep the nodes of reservations from all jobs that come now.
    void keep_reserved();
    /// Look anew at all jobs from a place on: another one has started.
    void look_anew(std::size_t first);

    PassInput &input_;
    Availability &profile_;
    NodeChoice &choice_;
    WindowSearch search_;
    StartBounds bounds_;
    PassCounts counts_;
    Candidates candidates_;
    std::vector<Started> started_;
    // The place of the present job, the end of those that may start, and how many jobs have got
    // nodes since that was found.
    std::size_t place_ = 0;
    std::size_t end_ = 0;
    int num_settled_ = 0;
    // Array and partition of the last job that was counted, how many of these have got nodes, and
    // whether that one has not.
    std::int64_t last_array_ = -1;
    std::int64_t last_partition_ = -1;
    std::int64_t of_array_ = 0;
    bool was_rejected_ = false;
    bool keeps_reserved_ = false; // whether nodes of reservations have yet to be kept
    Pieces pieces_;
    Placement placement_;
};

} // namespace cpsched::slurm
