#include "episode.h"

#include <algorithm>

namespace cpsched {

Episode::Episode(const PoolJobs &jobs, const EpisodeOptions &options)
    : jobs_(jobs), options_(options), pool_(jobs),
      availability_(0, std::vector<Amount>(jobs.num_resources())), extra_(jobs.num_resources()) {}

void Episode::begin(Row first, Row end) {
    pool_.begin(first, end);
    is_decided_ = is_done_ = false;
    cost_ = weight_ = 0;
    for (Row row = first; row < end; ++row)
        weight_ += weight_of(options_.measure, jobs_, row);
    if (weight_ == 0)
        weight_ = 1;
    go_on();
}

// --- what an agent decides -----------------------------------------------------------------------

void Episode::act(std::int64_t action) {
    if (options_.by_rule) {
        const bool is_possible =
            action >= 0 && action < static_cast<std::int64_t>(options_.rules.size());
        start_by_rule(options_.rules[is_possible ? static_cast<std::size_t>(action) : 0]);
    } else if (options_.may_wait && action == options_.visible && !pool_.running().empty()) {
        is_decided_ = true;
    } else {
        const bool is_possible = action >= 0 && action < static_cast<std::int64_t>(choices_.size());
        const Row row = choices_[is_possible ? static_cast<std::size_t>(action) : 0];
        if (pool_.fits_now(row))
            pool_.start(row);
        else
            start_behind(row, options_.behind);
    }
    go_on();
}

void Episode::play(PriorityRule rule) {
    while (!is_done_) {
        start_by_rule(rule);
        go_on();
    }
}

void Episode::start_by_rule(PriorityRule rule) {
    is_decided_ = true;
    rank(rule, false);
    for (const Ranked &job : ranked_) {
        if (!pool_.fits_now(job.row)) {
            start_behind(job.row, rule);
            return;
        }
        pool_.start(job.row);
    }
}

void Episode::start_behind(Row head, PriorityRule rule) {
    is_decided_ = true;
    if (!options_.backfills)
        return;
    // What is free only becomes less: what does not fit now will not.
    rank(rule, true);
    if (ranked_.empty())
        return;
    const Time reserved_at = reserve(head);
    for (const Ranked &job : ranked_) {
        const Amount *demand = jobs_.demand(job.row);
        if (!pool_.fits_now(job.row))
            continue;
        if (pool_.now() + jobs_.duration(job.row) > reserved_at) {
            if (!fits(demand, extra_.data(), extra_.size()))
                continue;
            for (std::size_t r = 0; r < extra_.size(); ++r)
                extra_[r] -= demand[r];
        }
        pool_.start(job.row);
    }
}

Time Episode::reserve(Row head) {
    pool_.fill(availability_);
    // There is such a segment: no job needs more than there is.
    const std::size_t segment = availability_.first_with(jobs_.demand(head));
    for (std::size_t r = 0; r < extra_.size(); ++r)
        extra_[r] = availability_.level(segment)[r] - jobs_.demand(head)[r];
    return availability_.time(segment);
}

void Episode::rank(PriorityRule rule, bool only_fitting) {
    ranked_.clear();
    for (const Row row : pool_.waiting()) {
        if (only_fitting && !pool_.fits_now(row))
            continue;
        const RankedJob job{jobs_.submit(row), jobs_.estimate(row), jobs_.demand(row)[0]};
        ranked_.push_back({key_of(rule, job, pool_.now()), row});
    }
    std::sort(ranked_.begin(), ranked_.end());
}

// --- going on ------------------------------------------------------------------------------------

void Episode::go_on() {
    while (true) {
        // Where nothing fits nothing starts, whatever is chosen.
        if (!pool_.waiting().empty() && !is_decided_ && find_choices()) {
            const std::size_t num_choices =
                options_.by_rule ? pool_.waiting().size() : choices_.size();
            if (num_choices > 1 || options_.may_wait)
                return;
            pool_.start(choices_[0]);
            continue;
        }
        is_decided_ = false;
        const Time second = pool_.next_time();
        if (second == kFar) {
            is_done_ = true;
            choices_.clear();
            return;
        }
        pass_time(second);
    }
}

bool Episode::find_choices() {
    const auto most = static_cast<std::size_t>(options_.visible);
    bool any_fits = false;
    choices_.clear();
    for (const Row row : pool_.waiting()) {
        if (choices_.size() == most && any_fits)
            break;
        const bool fits = pool_.fits_now(row);
        any_fits = any_fits || fits;
        if (choices_.size() < most && (fits || !options_.only_fitting))
            choices_.push_back(row);
    }
    return any_fits;
}

void Episode::pass_time(Time second) {
    const Measure measure = options_.measure;
    for (const Row row : pool_.waiting()) {
        const Time submit = jobs_.submit(row);
        cost_ += (cost_of(measure, jobs_, row, second - submit) -
                  cost_of(measure, jobs_, row, pool_.now() - submit)) /
                 weight_;
    }
    const Row first = pool_.arrived();
    pool_.advance(second);
    for (Row row = first; row < pool_.arrived(); ++row)
        cost_ += cost_of(measure, jobs_, row, 0) / weight_;
}

// --- what an agent sees --------------------------------------------------------------------------

void Episode::show(PoolObservation &pool, const Observation &seen) {
    pool.begin(pool_.now(), pool_.free(), static_cast<std::int64_t>(pool_.waiting().size()));
    for (const PoolRun::Running &job : pool_.running())
        pool.add_running(job.expected_end, jobs_.demand(job.row));
    float *row = seen.rows;
    for (const Row choice : choices_) {
        pool.show_job(jobs_.shown(choice), row);
        row += kNumFeatures;
    }
    if (choices_.size() < num_shown_)
        std::fill_n(row, (num_shown_ - choices_.size()) * kNumFeatures, 0.0F);
    num_shown_ = choices_.size();
    if (options_.may_wait)
        pool.show_wait(seen.rows + static_cast<std::size_t>(options_.visible) * kNumFeatures);
    if (seen.system != nullptr)
        pool.show_system(seen.system);
    const std::size_t num_actions = options_.num_actions();
    for (std::size_t action = 0; action < num_actions; ++action)
        seen.mask[action] = options_.by_rule || action < choices_.size();
    if (!options_.by_rule && options_.may_wait)
        // Not whether jobs are still to come: that is the future.
        seen.mask[num_actions - 1] = !pool_.running().empty();
}

} // namespace cpsched
