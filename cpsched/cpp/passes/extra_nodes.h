// What a reservation leaves free: capacity that is free now, and still once the reservation begins.
//
// On a pool of one resource these are the extra nodes of Mu'alem and Feitelson 2001. A job that
// does not end before the reservation begins may start on them alone.
//
// Cost: a start makes all ranges be looked at once. How many tasks of a request class fit is
// counted once after each start, and only of classes that bounds do not exclude: what all nodes
// have together, the most on one node, and classes that ask for no more and do not fit.
#pragma once

#include "../availability.h"

namespace cpsched {

class ExtraNodes {
  public:
    explicit ExtraNodes(PassContext &context);

    /// Forget the previous pass.
    void begin_pass();
    /// Follow a change of what is free now and then, levels of the same ranges.
    void follow(const Ranges &ranges, const Amount *now, const Amount *then);

    /// What each node of each range has free throughout.
    const Amount *free() const { return least_.data(); }
    /// Say whether fewer tasks of a request class fit by what is known from this pass, also from
    /// before a start: there is never more later on.
    bool is_known_short(std::int64_t request_id, std::int64_t tasks) const;
    /// Say whether a job may fit: never false if it does.
    bool may_fit(const Request &request);

  private:
    /// How much of a request class fits.
    struct Fit {
        std::int64_t request_id;
        std::int64_t version = -1; // of `least_`
        std::int64_t tasks = 0;
        bool has_counts = false;
        NodeCounts counts = {};
    };
    static constexpr std::size_t kMostUnfitting = 8;

    /// Return what is known of a request class from this pass; nullptr: nothing.
    const Fit *known(std::int64_t request_id) const;
    Fit &fit_of(std::int64_t request_id);
    /// Say whether bounds exclude that a job fits.
    bool is_excluded(const Request &request) const;
    /// Count how many tasks fit, and if need be on how many nodes how many.
    void count(const Request &request, bool with_counts, Fit &fit) const;

    PassContext &context_;
    const Ranges *ranges_ = nullptr;
    std::vector<Amount> least_;
    std::vector<Amount> total_;           // of all nodes
    std::vector<Amount> largest_;         // of any node
    std::int64_t version_ = 0;            // of all these
    std::vector<Fit> fits_;               // of the classes that were asked for in this pass
    std::vector<std::size_t> fit_at_;     // by request class: where it is in `fits_`, if it is
    std::vector<std::int64_t> unfitting_; // some classes of which no task fits at this version
};

} // namespace cpsched
