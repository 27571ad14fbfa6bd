// Free capacity over time: the availability profile.
//
// Ranges of nodes that are alike, now and in what runs on them, have one entry. A placement splits
// the ranges it uses in part, so there are as many as what runs and what is planned make different,
// whatever the number of nodes. Segment i begins at time(i) and lasts until segment i + 1 begins;
// the last one never ends. What is free then stands in a row of its own, so that a new segment
// moves nothing.
//
// Cost, with G ranges and R resources: O(G R) for a new segment, and for each segment that a
// placement on all ranges is taken off.
#pragma once

#include "node_ranges.h"
#include "nodes.h"
#include "pass.h"
#include "placement.h"

namespace cpsched {

class Availability {
  public:
    explicit Availability(const Nodes &nodes) : nodes_(nodes) {}

    /// Begin with one segment of what is free now; ranges are such that the first `num_running`
    /// running jobs and the given starts hold whole ranges.
    void begin(const FreeNodes &free, const Snapshot &now, std::size_t num_running,
               const Starts &starts);
    /// Begin with one segment of what is free on ranges that begin as given; `free` is by node.
    void begin_on_ranges(Time now, const Amount *free, const RangeStarts &begins);
    /// Begin with one segment a time, of single nodes: levels of shape (S, N, R), never falling.
    void begin_on_nodes(Span<const Time> times, const Amount *levels);

    std::size_t num_segments() const { return times_.size(); }
    Time time(std::size_t segment) const { return times_[segment]; }
    const std::vector<Time> &times() const { return times_; }
    std::size_t row(std::size_t segment) const { return rows_[segment]; }
    const Ranges &ranges() const { return ranges_; }
    /// Call with each range of the nodes from one on; these are whole ranges.
    template <class Function>
    void for_ranges_of(std::int64_t first, std::int64_t num_nodes, const Function &function) const {
        for (std::int64_t node = first; node < first + num_nodes;) {
            const std::int64_t range = range_at_[node];
            function(range);
            node += ranges_.size[range];
        }
    }
    /// What each node of each range has in a row, shape (G, R); until the next segment or split.
    const Amount *level(std::size_t row) const { return levels_.data() + row * stride_; }
    Amount *level(std::size_t row) { return levels_.data() + row * stride_; }
    /// What all nodes together have in a row, shape (R,).
    Span<const Amount> total(std::size_t row) const {
        return {totals_.data() + row * width_of_rows(), width_of_rows()};
    }
    /// The row that a row began as a copy of; the first one is its own.
    std::size_t source(std::size_t row) const { return sources_[row]; }
    /// Whether a planned job begins where a row does. Elsewhere a segment has no less than the one
    /// before it.
    bool falls(std::size_t row) const { return falls_[row] != 0; }
    /// Fill `least` with the least that is free in the segments [first, end), shape (G, R).
    ///
    /// Says whether that may be less than what is free in the first of them.
    bool least_in(std::size_t first, std::size_t end, std::vector<Amount> &least) const;

    /// Append a segment that begins at a time as a copy of the last one; returns its row.
    std::size_t append(Time time);
    /// Add what a running job holds to a row.
    void give_back(std::size_t row, const Job &job, const Snapshot &now);
    /// Add what a start holds to a row.
    void give_back(std::size_t row, const RequestClass &what, Span<const NodeSpan> spans);
    /// Split the ranges that a placement uses in part; its pieces then name whole ranges.
    void split(Pieces &pieces);
    /// Take a placement on whole ranges off one row.
    void take_off(std::size_t row, const RequestClass &what, const Pieces &pieces);
    /// Take a placement on whole ranges off from a segment until a time.
    ///
    /// Returns the row that the segment which then begins at that time is a copy of, -1 if none is
    /// new.
    std::int64_t occupy(std::size_t segment, Time end, const RequestClass &what,
                        const Pieces &pieces);
    /// Return the segment that begins at a time, the first one for any earlier time; a new one if
    /// none does.
    std::size_t segment_at(Time time);
    /// Leave nothing of the nodes of a placement on whole ranges to anybody in the segments
    /// [first, end): not even to a job that needs nothing.
    void block(std::size_t first, std::size_t end, const Pieces &pieces);
    /// Do the same on some ranges in one row.
    void block(std::size_t row, std::int64_t range);

  private:
    /// A segment that begins at a given time, and the row that it is a new copy of; -1: none.
    struct Cut {
        std::size_t segment;
        std::int64_t source;
    };

    template <class Free>
    void begin_with(Time now, const RangeStarts &begins, const Free &free_of);
    void add(std::size_t row, std::int64_t range, int resource, Amount more) {
        level(row)[range * nodes_.num_resources + resource] += more;
        totals_[row * width_of_rows() + resource] += more * ranges_.size[range];
    }
    std::size_t width_of_rows() const { return nodes_.num_resources; }
    /// Forget all segments; rows have space for so many ranges.
    void clear(std::size_t max_ranges);
    void set_max_ranges(std::size_t max_ranges);
    /// Add a row, nothing of which is known; returns its number.
    std::size_t add_row();
    /// Add a row that is a copy of another; returns its number.
    std::size_t copy_row(std::size_t source);
    /// Give rows space for so many ranges, more than they have.
    void widen(std::size_t max_ranges);
    /// Leave a range its first nodes; returns the new range of the others.
    std::int64_t split_range(std::int64_t range, std::int64_t nodes);
    /// Let a segment behind a given one begin at a time.
    Cut cut_at(std::size_t segment, Time time);
    void note_fall(std::size_t row, std::int64_t range);
    bool falls_on(std::size_t row, std::int64_t range) const;
    std::uint64_t &fallen_word(std::size_t row, std::int64_t range) {
        return fallen_[row * num_words_ + (range >> 6)];
    }

    const Nodes &nodes_;
    RangeStarts begins_; // scratch of `begin`
    Ranges ranges_;
    // The range that begins at a node; anything at the other nodes.
    std::vector<std::int64_t> range_at_;
    std::vector<Time> times_;
    std::vector<std::size_t> rows_;
    std::vector<std::size_t> sources_;

    // By row. Vectors keep what they were grown to: only rows below sources_.size() are in use.
    std::size_t max_ranges_ = 0;
    std::size_t stride_ = 0;    // of `levels_`, from row to row
    std::size_t num_words_ = 0; // of `fallen_`, from row to row
    std::vector<Amount> levels_;
    std::vector<Amount> totals_;
    std::vector<std::uint8_t> falls_;
    // The ranges that planned jobs which begin where a row does use, as bits.
    std::vector<std::uint64_t> fallen_;
};

/// Let ranges begin where what the first `num_running` running jobs hold begins and ends.
void mark_allocations(RangeStarts &begins, const Snapshot &now, std::size_t num_running);

} // namespace cpsched
