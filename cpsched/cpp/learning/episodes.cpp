#include "episodes.h"

#include <algorithm>

namespace cpsched {

namespace {

/// Return the options by which a rule is played in the same windows.
EpisodeOptions with_rules(EpisodeOptions options) {
    options.by_rule = true;
    options.only_fitting = options.may_wait = false;
    return options;
}

} // namespace

Episodes::Episodes(const PoolJobs &jobs, EpisodeOptions options, Settings settings)
    : jobs_(jobs), options_(std::move(options)), settings_(settings),
      num_system_features_(
          settings.shows_system ? PoolObservation::num_system_features(jobs_.num_resources()) : 0),
      pool_(jobs_.total()), rule_options_(with_rules(options_)), by_rule_(jobs_, rule_options_) {
    const auto num = static_cast<std::size_t>(settings_.num_episodes);
    for (std::size_t number = 0; number < num; ++number)
        episodes_.emplace_back(jobs_, options_);
    paid_.assign(num, 0);
    unit_.assign(num, 1);
    rows_.assign(num * options_.num_rows() * kNumFeatures, 0);
    system_.assign(num * num_system_features_, 0);
    mask_.assign(num * options_.num_actions(), 0);
}

void Episodes::begin(Span<const std::int64_t> which, Span<const Row> first) {
    for (std::size_t i = 0; i < which.size(); ++i) {
        const auto number = static_cast<std::size_t>(which[i]);
        episodes_[number].begin(first[i], first[i] + settings_.length);
        paid_[number] = 0;
        if (settings_.relative_to)
            unit_[number] = std::max(by_rule(first[i], *settings_.relative_to), 1e-9);
        show(number);
    }
}

void Episodes::step(Span<const std::int64_t> actions, Span<double> rewards) {
    for (std::size_t number = 0; number < episodes_.size(); ++number) {
        if (!episodes_[number].is_done()) {
            episodes_[number].act(actions[number]);
            show(number);
        }
        rewards[number] = reward_of(number);
    }
}

double Episodes::reward_of(std::size_t number) {
    const Episode &episode = episodes_[number];
    double &paid = paid_[number];
    const double due = settings_.is_dense || episode.is_done() ? episode.cost() : paid;
    const double reward = (paid - due) / unit_[number];
    paid = due;
    return reward;
}

double Episodes::by_rule(Row first, PriorityRule rule) {
    const auto known = known_by_rule_.find({first, rule});
    if (known != known_by_rule_.end())
        return known->second;
    by_rule_.begin(first, first + settings_.length);
    by_rule_.play(rule);
    return known_by_rule_[{first, rule}] = by_rule_.cost();
}

void Episodes::show(std::size_t number) {
    Observation seen{};
    seen.rows = rows_.data() + number * options_.num_rows() * kNumFeatures;
    if (num_system_features_ > 0)
        seen.system = system_.data() + number * num_system_features_;
    seen.mask = mask_.data() + number * options_.num_actions();
    episodes_[number].show(pool_, seen);
}

} // namespace cpsched
