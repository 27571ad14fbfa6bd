// Conservative backfilling (Mu'alem and Feitelson 2001): every job of the queue gets the earliest
// window in which it can be placed for its whole duration, after those before it. So no job delays
// one before it, if none runs longer than predicted.
//
// Departures: a reservation is for nodes, not for a number of processors; and a limit (`depth`) may
// leave reservations to the first jobs that have to wait, behind which a job only starts if it
// delays none of them. With a depth of 1 that is EASY without its choice of nodes.
//
// Cost, for Q jobs: Q window searches (windows.h), of which those are left out that cannot start
// now where only that counts.
#pragma once

#include "availability.h"
#include "pass.h"
#include "passes/start_bounds.h"
#include "windows.h"

#include <functional>

namespace cpsched {

/// Plans a queue; keeps its arrays from decision to decision.
class ConservativePass {
  public:
    /// `context` must outlive this.
    explicit ConservativePass(PassContext &context);

    /// Plan jobs in the order given, and start those whose window begins now.
    ///
    /// At most `depth` jobs get a reservation. If `full`, every job is planned; otherwise planning
    /// stops as soon as no later job could start now. Returns the planned start of each job, -1
    /// where it was not planned; what starts is in the context. `check_signals` is called before
    /// each window search, and ends the plan if it throws: a queue of 60,000 jobs takes seconds.
    std::vector<Time> run(Span<const Row> rows, std::int64_t depth, bool full,
                          const std::function<void()> &check_signals);

  private:
    /// Start jobs from the first one on as long as they fit; returns how many do.
    std::size_t start_first(Span<const Row> rows);
    /// Return the end of those of the jobs [first, end) behind which none may fit now.
    std::size_t end_of_candidates(Span<const Row> rows, std::size_t first, std::size_t end) const;
    /// Fill the profile with what is free as jobs end: those that run, and those that start now.
    void follow_ends();
    /// A window for a job, or else a second before which there is none.
    struct Window {
        bool exists;
        std::size_t segment;
        Time start;
    };
    /// Return the first window of a job that begins at a second or later, in `pieces_` its
    /// placement. With `now_only`, no other window counts than one that begins now.
    Window window_of(const Request &request, Time earliest, bool now_only);
    /// Take the placement in `pieces_` off the profile.
    void reserve(const Request &request, std::size_t segment);
    /// Start a job with the placement in `pieces_`, which is reserved.
    void start(Row row, const Request &request);

    PassContext &context_;
    Availability profile_;
    WindowSearch search_;
    StartBounds bounds_;
    Pieces pieces_;
    Placement placement_;
};

} // namespace cpsched
