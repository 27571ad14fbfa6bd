// The usage of associations as Slurm counts it: usage decays, and is computed every so often.
//
// After Slurm's page "Multifactor Priority Plugin". Usage (of billing seconds) and the factors that
// follow are computed at multiples of PriorityCalcPeriod. Running jobs are charged then for what
// they have run since the last time, and ended ones at once. What is charged for some seconds
// decays for as long.
//
// Cost: a start O(1), an end the depth of the tree and the starts since the last computation; a
// computation that of the tree's factors, whatever runs.
#pragma once

#include "settings.h"
#include "share_tree.h"

namespace cpsched::slurm {

class Usage {
  public:
    /// A running job that has started since usage was computed.
    struct Late {
        std::int64_t association;
        Time start;
        double billing;
    };
    /// What changes in a run.
    struct State {
        std::vector<double> raw;        // of each association and all below it
        std::vector<double> rate;       // billing a second of the running jobs of each
        std::vector<double> fair_share; // the factors as of the last computation
        std::vector<Late> late;
        Time computed = 0;      // when usage was computed last, and will be next
        Time next = 0;          //
        std::size_t resets = 0; // how often it was set back
    };

    /// `used` is the usage before the beginning; `resets` the seconds at which usage is set back.
    Usage(const ShareTree &tree, UsageSettings settings, std::vector<double> used,
          std::vector<Time> resets);

    /// Charge a job from now on; `billing` counts the usage factor of its QOS.
    void start(std::int64_t association, double billing, Time now);
    /// Charge a job that ends now for what it has run since the last computation.
    void end(std::int64_t association, double billing, Time start, Time now);
    bool is_due(Time now) const { return now >= state_.next; }
    /// Do the computations that are due; return the second of the last.
    Time advance(Time now);

    double fair_share(std::int64_t association) const {
        return association < 0 ? 0.0 : state_.fair_share[static_cast<std::size_t>(association)];
    }
    Time next() const { return state_.next; }
    const State &state() const { return state_; }
    void restore(State state) { state_ = std::move(state); }

  private:
    double weight(Time seconds) const;
    void forget_late(std::int64_t association, Time start, double billing);
    void set_back(Time now);
    void charge_running(Time now);
    void find_factors();

    const ShareTree &tree_;
    UsageSettings settings_;
    std::vector<Time> resets_;
    State state_;
};

} // namespace cpsched::slurm
