// The earliest window in which a job can be placed for its whole duration.
//
// What fits throughout a window fits the least that is free in it. So a window is as good as its
// least, and two facts save most of the search. Free capacity only falls where a planned job
// begins: between two such seconds the first segment with enough is found by steps that double and
// then halve. And where the least of a window is too little, its shortest end that is too little by
// itself says where the next window can begin.
//
// Cost, with S segments and G ranges of nodes: O(G) for each window tried, and for each segment
// within it at which a planned job begins.
#pragma once

#include "availability.h"

#include <optional>

namespace cpsched {

/// Finds windows in one availability profile; keeps the arrays it works on.
class WindowSearch {
  public:
    /// Upper bounds, by row of the profile, of the tasks of a request class that fit. Free capacity
    /// must not have grown since.
    using MostFitting = std::vector<std::int64_t>;

    /// Both must outlive this.
    WindowSearch(const Availability &profile, Placer &placer)
        : profile_(profile), placer_(placer), nodes_(placer.nodes()) {}

    /// Return the first of the segments [begin, end) at which a job fits for its whole duration.
    ///
    /// Fills `pieces` with its placement throughout, which names ranges of the profile. Lowers
    /// `most`, which has an entry for each row; bounds for jobs of one node are none for others.
    std::optional<std::size_t> find(const Request &request, std::size_t begin, std::size_t end,
                                    MostFitting &most, Pieces &pieces);

    /// Return the same segment without a placement. What a job that needs capacity alone is placed
    /// on is `least`.
    std::optional<std::size_t> find_segment(const Request &request, std::size_t begin,
                                            std::size_t end, MostFitting &most);
    /// What is free throughout the window found last, on each node of each range.
    const Amount *least() const { return least_.data(); }

  private:
    /// A job, and how far it is known where it fits: segments [begin, known) have enough in all,
    /// those in [begin, certain) are each enough by themselves.
    struct Search {
        const Request &request;
        MostFitting &most;
        std::size_t begin;
        std::size_t end;
        std::size_t known;
        std::size_t certain;
        /// Whether the segment `begin` is known to be enough by itself.
        bool is_enough = false;
    };

    /// Move on to the first window whose least is enough, and leave that in `least_`. Says whether
    /// there is one.
    bool next_window(Search &search);
    /// Move `known` on to where the window ends, or to the first segment before that in which all
    /// nodes together have too little. Says whether there is none.
    bool enough_in_all(Search &search) const;
    bool enough_in_all(const Search &search, std::size_t row) const;
    /// Say whether a segment is enough by itself. Spoils `fitting_`.
    bool is_enough(const Search &search, std::size_t segment);
    /// Move on to the next segment that may be enough by itself; the present one is not. Spoils
    /// `fitting_`.
    void next_enough(Search &search);
    /// Return the segment behind the last one from which on the window is too little. Spoils
    /// `least_` and `fitting_`.
    std::size_t behind_too_little(const Search &search);
    /// Fill `least_` and `fitting_` with what a row has; returns the tasks that fit.
    std::int64_t count_fitting(const Request &request, std::size_t row);
    /// Lower `least_` and `fitting_` to what a row has where tasks fit; returns how many fewer do.
    std::int64_t lower_to(const Request &request, std::size_t row);
    /// Place a job on what is free throughout a window.
    bool place(const Request &request, Pieces &pieces);

    std::int64_t shortage_in(const Request &request, const Amount *free) {
        return shortage(nodes_, free, profile_.ranges(), request, fitting_);
    }

    const Availability &profile_;
    Placer &placer_;
    const Nodes &nodes_;
    // What is free throughout a window, and the tasks that fit on a node of each range.
    std::vector<Amount> least_;
    std::vector<std::int64_t> fitting_;
    std::vector<std::int64_t> order_;
    Pieces unused_;
};

/// Say whether a job can be placed wherever its tasks fit on nodes within its bounds.
inline bool needs_capacity_alone(const RequestClass &what) {
    return !what.is_contiguous() && !what.is_confined() && !what.is_even();
}

} // namespace cpsched
