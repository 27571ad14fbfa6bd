// What a reservation leaves free: capacity that is free now, and still once the reservation begins.
//
// On a pool of one resource these are the extra nodes of Mu'alem and Feitelson 2001. A job that
// does not end before the reservation begins may start on them alone.
//
// Cost: all ranges are looked at once after each start, if a job asks. How many tasks of a request
// class fit is counted once after each start, and only of classes that bounds do not exclude: what
// all nodes have together, the most on one node, and classes that ask for no more and do not fit.
#pragma once

#include "../availability.h"

namespace cpsched {

class ExtraNodes {
  public:
    explicit ExtraNodes(PassContext &context);

    /// Forget the previous pass, and look at what is free in two rows of an availability profile.
    void begin_pass(const Availability &availability, std::size_t now, std::size_t then);
    /// Note that something has been taken off these.
    void note_change() { is_current_ = false; }

    /// What each node of each range has free throughout.
    const Amount *free() {
        follow();
        return least_.data();
    }
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

    /// Take over what is free where it has changed.
    void follow();
    /// Return what is known of a request class from this pass; nullptr: nothing.
    const Fit *known(std::int64_t request_id) const;
    Fit &fit_of(std::int64_t request_id);
    /// Say whether bounds exclude that a job fits.
    bool is_excluded(const Request &request) const;
    /// Count how many tasks fit, and if need be on how many nodes how many.
    void count(const Request &request, bool with_counts, Fit &fit);

    PassContext &context_;
    const Availability *availability_ = nullptr;
    std::size_t now_ = 0;
    std::size_t then_ = 0;
    bool is_current_ = false;
    std::vector<Amount> least_;
    std::vector<Amount> total_;           // of all nodes
    std::vector<Amount> largest_;         // of any node
    std::int64_t version_ = 0;            // of all these
    std::vector<Fit> fits_;               // of the classes that were asked for in this pass
    std::vector<std::size_t> fit_at_;     // by request class: where it is in `fits_`, if it is
    std::vector<std::int64_t> unfitting_; // some classes of which no task fits at this version
};

} // namespace cpsched
