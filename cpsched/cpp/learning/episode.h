// An episode: jobs arrive, run and end on a pool, and an agent says what starts.
//
// It is asked after an instant, as long as a waiting job fits and its answer can matter. A job that
// is chosen and fits starts; behind one that does not, others may start that do not delay it: EASY
// backfilling on a pool (Mu'alem and Feitelson 2001, section 2.2), where the reservation is an
// amount and no placement. That is what passes/easy.h decides on one node, without ranges of nodes.
//
// Cost: O(W) for each decision with W waiting jobs, O(W log W + B) where it backfills with B
// running ones, and O(W) for an instant.
#pragma once

#include "measure.h"
#include "pool_run.h"
#include "priority_rules.h"

namespace cpsched {

/// What an agent decides, and what happens behind its decision.
struct EpisodeOptions {
    /// Whether an action is a rule for a pass over the queue, and not a job.
    bool by_rule = false;
    /// Whether only jobs that fit now may be chosen.
    bool only_fitting = false;
    /// Whether the last action starts nothing until something happens.
    bool may_wait = false;
    /// Whether jobs are backfilled behind one that does not fit.
    bool backfills = true;
    /// The rule by which they are, where jobs are chosen.
    PriorityRule behind = PriorityRule::kFifo;
    /// The rules to choose from.
    std::vector<PriorityRule> rules;
    /// So many jobs at most are shown, those that came first.
    std::int64_t visible = 128;
    Measure measure = Measure::kWait;

    std::size_t num_rows() const { return static_cast<std::size_t>(visible + (may_wait ? 1 : 0)); }
    std::size_t num_actions() const { return by_rule ? rules.size() : num_rows(); }
};

/// The memory in which an agent is shown one episode.
struct Observation {
    float *rows;        // (num_rows, kNumFeatures)
    float *system;      // nullptr: not shown
    std::uint8_t *mask; // (num_actions,): which actions are possible
};

class Episode {
  public:
    /// Both must outlive this; `begin` comes next.
    Episode(const PoolJobs &jobs, const EpisodeOptions &options);

    /// Begin with an empty pool, and go on to the first decision; jobs are the rows [first, end).
    void begin(Row first, Row end);
    /// Do what an agent says, and go on to its next decision; an action that is not possible counts
    /// as the first.
    void act(std::int64_t action);
    /// Go on to the end by one rule.
    void play(PriorityRule rule);
    /// Fill what an agent sees, in memory that this filled before or that is zero.
    void show(PoolObservation &pool, const Observation &seen);

    bool is_done() const { return is_done_; }
    /// The measure so far.
    double cost() const { return cost_; }
    const PoolRun &pool() const { return pool_; }

  private:
    /// A job as a rule ranks it.
    struct Ranked {
        double key;
        Row row;

        bool operator<(const Ranked &other) const {
            return key != other.key ? key < other.key : row < other.row;
        }
    };

    /// Start jobs in a rule's order until one does not fit, then backfill in that order.
    void start_by_rule(PriorityRule rule);
    /// Let a job that does not fit wait, and others start behind it.
    void start_behind(Row head, PriorityRule rule);
    /// Return when a job has free capacity, and fill `extra_` with what it leaves free then.
    Time reserve(Row head);
    /// Rank waiting jobs: those that fit, or all.
    void rank(PriorityRule rule, bool only_fitting);

    void go_on();
    /// Find the jobs that can be chosen; says whether one of the queue fits.
    bool find_choices();
    /// Do what happens at a second, and count what waiting until then costs.
    void pass_time(Time second);

    const PoolJobs &jobs_;
    const EpisodeOptions &options_;
    PoolRun pool_;
    /// Whether nothing more is decided in this second.
    bool is_decided_ = false;
    bool is_done_ = true;
    double cost_ = 0;
    double weight_ = 1; // the cost is divided by this
    std::vector<Row> choices_;
    std::size_t num_shown_ = 0; // rows of jobs in the memory that is shown

    // Scratch of decisions.
    std::vector<Ranked> ranked_;
    PooledAvailability availability_;
    std::vector<Amount> extra_;
};

} // namespace cpsched
