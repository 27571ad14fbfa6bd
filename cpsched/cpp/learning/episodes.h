// Episodes of one log that are stepped together.
//
// Each has its own state, so that they may be stepped in any order, or at once.
#pragma once

#include "episode.h"

#include <deque>
#include <map>
#include <optional>

namespace cpsched {

class Episodes {
  public:
    struct Settings {
        std::int64_t num_episodes = 1;
        /// Jobs in a window.
        std::int64_t length = 0;
        /// Whether the system is shown, too.
        bool shows_system = false;
        /// Whether a reward is what each second costs, or the measure at the end.
        bool is_dense = true;
        /// The rule by whose measure in the same window rewards are divided.
        std::optional<PriorityRule> relative_to;
    };

    /// The jobs must outlive this.
    Episodes(const PoolJobs &jobs, EpisodeOptions options, Settings settings);
    // Episodes point to the options.
    Episodes(const Episodes &) = delete;
    Episodes &operator=(const Episodes &) = delete;
    Episodes(Episodes &&) = delete;
    Episodes &operator=(Episodes &&) = delete;
    ~Episodes() = default;

    /// Begin some episodes, each at a row of its own.
    void begin(Span<const std::int64_t> which, Span<const Row> first);
    /// Let every episode that is not over act, by its entry; fill what each is paid.
    void step(Span<const std::int64_t> actions, Span<double> rewards);
    /// Return the measure of a rule in the window from a row on, in its own order throughout.
    double by_rule(Row first, PriorityRule rule);

    std::size_t size() const { return episodes_.size(); }
    const Episode &operator[](std::size_t number) const { return episodes_[number]; }
    const PoolJobs &jobs() const { return jobs_; }
    const EpisodeOptions &options() const { return options_; }
    const Settings &settings() const { return settings_; }
    std::size_t num_system_features() const { return num_system_features_; }

    /// What agents see: shapes (E, num_rows, kNumFeatures), (E, num_system_features) and
    /// (E, num_actions).
    const std::vector<float> &rows() const { return rows_; }
    const std::vector<float> &system() const { return system_; }
    const std::vector<std::uint8_t> &mask() const { return mask_; }

  private:
    void show(std::size_t number);
    double reward_of(std::size_t number);

    const PoolJobs &jobs_;
    const EpisodeOptions options_;
    const Settings settings_;
    const std::size_t num_system_features_;
    std::deque<Episode> episodes_;
    /// By episode: what of the measure was paid out, and what rewards are divided by.
    std::vector<double> paid_;
    std::vector<double> unit_;

    std::vector<float> rows_;
    std::vector<float> system_;
    std::vector<std::uint8_t> mask_;

    PoolObservation pool_; // scratch of `show`
    const EpisodeOptions rule_options_;
    Episode by_rule_;
    std::map<std::pair<Row, PriorityRule>, double> known_by_rule_;
};

} // namespace cpsched
