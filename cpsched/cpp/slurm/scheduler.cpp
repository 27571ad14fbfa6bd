#include "scheduler.h"

#include <algorithm>
#include <iterator>

namespace cpsched::slurm {

namespace {

/// Seconds for which a job rests that was queued again.
constexpr Time kRest = 121;

std::vector<Row> sorted(std::vector<Row> rows) {
    if (!std::is_sorted(rows.begin(), rows.end()))
        std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    return rows;
}

std::vector<Row> without(const std::vector<Row> &rows, const std::vector<Row> &others) {
    std::vector<Row> left;
    std::set_difference(rows.begin(), rows.end(), others.begin(), others.end(),
                        std::back_inserter(left));
    return left;
}

} // namespace

SlurmScheduler::SlurmScheduler(SlurmSetup setup)
    : setup_(std::move(setup)), usage_(setup_.tree, setup_.usage, setup_.used, setup_.resets),
      timer_(setup_.timer), templates_(setup_.priority.by_minutes),
      requests_(setup_.partitions, setup_.reservations.nodes, setup_.nodes.nodes.num_resources),
      passes_(setup_.passes, setup_.nodes, setup_.partitions, setup_.partitions.count,
              setup_.reservations, records_, limits_),
      change_(setup_.reservations.next_change(-1)) {}

void SlurmScheduler::look_at(const RequestTable &requests, const std::uint8_t *eligible,
                             std::int64_t num_masks) {
    requests_.look_at(requests, eligible, num_masks);
}

void SlurmScheduler::forget_templates(bool renumbered) {
    templates_.clear();
    if (renumbered)
        requests_.clear();
}

// --- a decision ----------------------------------------------------------------------------------

void SlurmScheduler::decide(const Present &present, TemplateSource &source) {
    const Time now = present.now.now;
    if (is_restored_)
        rebuild(present, source);
    started_.clear();
    passes_.clear();
    due_ = {0, false};
    if (usage_.is_due(now))
        compute_usage(now);
    if (present.now.running.size() != running_.size())
        end_jobs(present);
    take_new(present, source);
    const bool same = present.waiting.size() == num_waiting_ &&
                      present.now.running.size() == running_.size() &&
                      present.reordered == reordered_;
    if (!same)
        compare(present, source);
    const bool rested = note_changes(now);
    if (!queue_.empty()) {
        timer_.note(has_arrived_ || rested, now);
        due_ = timer_.take_due(queue_.size(), now);
        if (due_.depth > 0 || due_.backfills)
            run_passes(present);
    }
    again_at_ = next_decision(now);
    has_arrived_ = false;
    reordered_ = present.reordered;
}

void SlurmScheduler::compute_usage(Time now) {
    const Time at = usage_.advance(now);
    if (!setup_.priority.changes)
        return;
    for (const Queue::Place &place : queue_.places())
        prioritise(records_[place.record], setup_.priority, usage_, at, false);
    if (queue_.sort_by(records_.all()))
        timer_.note_change();
}

void SlurmScheduler::end_jobs(const Present &present) {
    const auto runs = [&](std::size_t number) {
        return present.now.jobs[records_[number].row].state == kRunning;
    };
    const std::size_t num_before = running_.size();
    for (const std::size_t number : running_) {
        const Record &record = records_[number];
        if (runs(number))
            continue;
        count(number, -1);
        const Time start = present.now.jobs[record.row].start;
        usage_.end(record.association, record.billing, start, present.now.now);
    }
    // The order of those that run is the order in which their usage will be added up.
    for (std::size_t at = running_.size(); at-- > 0;) {
        if (runs(running_[at]))
            continue;
        running_[at] = running_.back();
        running_.pop_back();
    }
    if (running_.size() < num_before)
        timer_.note_end(present.now.now);
}

void SlurmScheduler::take_new(const Present &present, TemplateSource &source) {
    if (num_known_ >= present.num_jobs)
        return;
    const std::vector<Row> unknown =
        templates_.unknown(present.now.jobs, num_known_, present.num_jobs);
    if (!unknown.empty())
        source.learn(unknown);
    for (; num_known_ < present.num_jobs; ++num_known_) {
        const Job &job = present.now.jobs[num_known_];
        if (job.request_id >= num_requests_) {
            num_requests_ = job.request_id + 1;
            // A new request class is a change, of a job that is held, too.
            if (present.brings_requests)
                timer_.note_change();
        }
        if (job.state == kWaiting)
            enqueue(present, num_known_, source);
    }
}

bool SlurmScheduler::note_changes(Time now) {
    if (change_ <= now) {
        change_ = setup_.reservations.next_change(now);
        timer_.note_end(now);
    }
    const auto rested =
        std::remove_if(rests_.begin(), rests_.end(), [now](Time until) { return until <= now; });
    const bool some = rested != rests_.end();
    rests_.erase(rested, rests_.end());
    return some;
}

void SlurmScheduler::run_passes(const Present &present) {
    const bool masks_changed = requests_.update();
    passes_.look_at(requests_.table(), requests_.eligible());
    if (masks_changed)
        passes_.masks_changed(requests_.num_masks());
    passes_.run(queue_, due_.depth, due_.backfills, present.now, present.free);
    for (const Started &one : passes_.main().started())
        started_.push_back(one.record);
    for (const Started &one : passes_.backfill().started())
        started_.push_back(one.record);
    note_starts(present.now.now);
}

void SlurmScheduler::note_starts(Time now) {
    for (const std::size_t number : started_) {
        const Record &record = records_[number];
        running_.push_back(number);
        take_out(record.row);
        usage_.start(record.association, record.billing, now);
    }
}

Time SlurmScheduler::next_decision(Time now) const {
    if (queue_.empty())
        return kFar;
    Time next = std::min(timer_.next(now), change_);
    for (const Time until : rests_)
        next = std::min(next, until);
    // Another order of the queue starts nothing where nothing runs, a pass over all jobs has
    // started none, and nothing else is to come: a job that can never start would be waited for
    // without end.
    const bool is_hopeless = running_.empty() && next == kFar && setup_.timer.interval > 0;
    return setup_.priority.changes && !is_hopeless ? std::min(next, usage_.next()) : next;
}

// --- jobs ----------------------------------------------------------------------------------------

RecordRange SlurmScheduler::take(const Present &present, Row row, Time since,
                                 TemplateSource &source) {
    const RecordRange known = records_.of(row);
    if (!known.empty())
        return known;
    const Job &job = present.now.jobs[row];
    if (templates_.find(job) == nullptr)
        source.learn({row});
    const Time from = setup_.priority.accrues_always ? job.submit : since;
    return records_.add(*templates_.find(job), row, job, from, setup_.priority.reserves_after);
}

void SlurmScheduler::enqueue(const Present &present, Row row, TemplateSource &source) {
    const RecordRange own = take(present, row, present.now.now, source);
    for (std::size_t number = own.first; number < own.end; ++number) {
        Record &record = records_[number];
        prioritise(record, setup_.priority, usage_, present.now.now, true);
        queue_.insert(number, record.key);
    }
    ++num_waiting_;
    has_arrived_ = true;
}

void SlurmScheduler::take_out(Row row) {
    const RecordRange own = records_.of(row);
    for (std::size_t number = own.first; number < own.end; ++number)
        queue_.remove(number, records_[number].key);
    --num_waiting_;
}

void SlurmScheduler::run_on(std::size_t record) {
    running_.push_back(record);
    count(record, 1);
}

void SlurmScheduler::come_back(const Present &present, Row row, TemplateSource &source) {
    const std::int64_t attempts = present.now.jobs[row].attempts;
    const auto known = attempts_.find(row);
    if (attempts > (known == attempts_.end() ? 0 : known->second)) {
        attempts_[row] = attempts;
        const Time until = present.now.now + kRest;
        const RecordRange own = take(present, row, present.now.now, source);
        for (std::size_t number = own.first; number < own.end; ++number)
            records_[number].begins = records_[number].since = until;
        rests_.push_back(until);
    }
    enqueue(present, row, source);
}

void SlurmScheduler::compare(const Present &present, TemplateSource &source) {
    const Job *jobs = present.now.jobs;
    std::vector<Row> queued;
    for (const Queue::Place &place : queue_.places())
        queued.push_back(records_[place.record].row);
    queued = sorted(std::move(queued));
    const std::vector<Row> waiting = sorted({present.waiting.begin(), present.waiting.end()});
    release_claimed(present, waiting);
    for (const Row row : without(queued, waiting)) {
        take_out(row);
        if (jobs[row].state == kWaiting) {
            // Others make room for it: it counts in its limits already.
            claimed_[row] = records_.of(row).first;
            count(claimed_[row], 1);
        }
    }
    take_up_running(present, source);
    for (const Row row : without(waiting, queued))
        come_back(present, row, source);
    look_again(jobs);
}

void SlurmScheduler::release_claimed(const Present &present, const std::vector<Row> &waiting) {
    for (auto one = claimed_.begin(); one != claimed_.end();) {
        const bool waits = present.now.jobs[one->first].state == kWaiting;
        if (waits && !std::binary_search(waiting.begin(), waiting.end(), one->first)) {
            ++one;
            continue;
        }
        count(one->second, -1);
        one = claimed_.erase(one);
    }
}

void SlurmScheduler::take_up_running(const Present &present, TemplateSource &source) {
    std::vector<Row> known;
    known.reserve(running_.size());
    for (const std::size_t number : running_)
        known.push_back(records_[number].row);
    const std::vector<Row> running =
        sorted({present.now.running.begin(), present.now.running.end()});
    for (const Row row : without(running, sorted(std::move(known)))) {
        const Time start = present.now.jobs[row].start;
        const std::size_t number = take(present, row, start, source).first;
        run_on(number);
        usage_.start(records_[number].association, records_[number].billing, start);
    }
}

/// Read the present request classes of jobs that wait: outages that are planned, and limits of
/// switches that pass, change them.
void SlurmScheduler::look_again(const Job *jobs) {
    for (const Queue::Place &place : queue_.places()) {
        Record &record = records_[place.record];
        record.request_id =
            requests_.number_of(jobs[record.row].request_id,
                                record.has_others ? record.partition : -1, record.reservation);
    }
}

// --- what others ask -----------------------------------------------------------------------------

std::vector<std::int64_t> SlurmScheduler::priorities(const Present &present, Span<const Row> rows,
                                                     TemplateSource &source) {
    if (usage_.is_due(present.now.now))
        usage_.advance(present.now.now);
    std::vector<std::int64_t> priorities;
    for (const Row row : rows) {
        Record &record = records_[take(present, row, present.now.now, source).first];
        prioritise(record, setup_.priority, usage_, present.now.now, true);
        priorities.push_back(record.priority);
    }
    return priorities;
}

std::int64_t SlurmScheduler::held_by(Row row) const {
    std::int64_t first = -1;
    const RecordRange own = records_.of(row);
    for (std::size_t number = own.first; number < own.end; ++number) {
        const std::int64_t counter = exceeded(number);
        if (counter < 0)
            return -1;
        first = first < 0 ? counter : first;
    }
    return first;
}

std::vector<std::size_t> SlurmScheduler::ranking() const {
    std::vector<Queue::Place> places = queue_.places();
    for (const std::size_t number : started_)
        places.push_back({records_[number].key, number});
    std::sort(places.begin(), places.end());
    std::vector<std::size_t> numbers;
    numbers.reserve(places.size());
    for (const Queue::Place &place : places)
        numbers.push_back(place.record);
    return numbers;
}

// --- saving --------------------------------------------------------------------------------------

SlurmScheduler::State SlurmScheduler::state() const {
    if (is_restored_)
        return restored_;
    State state;
    const auto keep = [&](std::size_t number) {
        const Record &record = records_[number];
        state.records.push_back({record.row, record.partition, record.since, record.priority,
                                 record.planned, record.begins, record.key});
    };
    for (const Queue::Place &place : queue_.places())
        keep(place.record);
    for (const std::size_t number : running_)
        keep(number);
    for (const auto &one : claimed_)
        keep(one.second);
    state.num_queued = queue_.size();
    state.num_running = running_.size();
    state.attempts = attempts_;
    state.rests = rests_;
    state.usage = usage_.state();
    state.timer = timer_.state();
    state.num_known = num_known_;
    state.num_requests = num_requests_;
    state.change = change_;
    state.again_at = again_at_;
    state.has_arrived = has_arrived_;
    return state;
}

void SlurmScheduler::restore(State state) {
    records_.clear();
    limits_.clear();
    queue_.clear();
    running_.clear();
    started_.clear();
    claimed_.clear();
    num_waiting_ = 0;
    attempts_ = state.attempts;
    rests_ = state.rests;
    usage_.restore(state.usage);
    timer_.restore(state.timer);
    num_known_ = state.num_known;
    num_requests_ = state.num_requests;
    change_ = state.change;
    again_at_ = state.again_at;
    has_arrived_ = state.has_arrived;
    restored_ = std::move(state);
    is_restored_ = true;
}

/// Make the records of the jobs that waited or ran.
void SlurmScheduler::rebuild(const Present &present, TemplateSource &source) {
    is_restored_ = false;
    // Whatever it is: jobs may ask for other request classes in this view.
    reordered_ = -1;
    std::vector<Row> rows;
    for (const State::Kept &kept : restored_.records)
        if (templates_.find(present.now.jobs[kept.row]) == nullptr)
            rows.push_back(kept.row);
    if (!rows.empty())
        source.learn(sorted(std::move(rows)));
    for (std::size_t place = 0; place < restored_.records.size(); ++place) {
        const State::Kept &kept = restored_.records[place];
        const RecordRange own = take(present, kept.row, kept.since, source);
        std::size_t number = own.first;
        while (records_[number].partition != kept.partition)
            ++number;
        Record &record = records_[number];
        record.since = kept.since;
        record.priority = kept.priority;
        record.planned = kept.planned;
        record.begins = kept.begins;
        record.key = kept.key;
        if (place < restored_.num_queued) {
            queue_.insert(number, kept.key);
        } else if (place < restored_.num_queued + restored_.num_running) {
            run_on(number);
        } else {
            claimed_[kept.row] = number;
            count(number, 1);
        }
    }
    rows.clear();
    for (const Queue::Place &place : queue_.places())
        rows.push_back(records_[place.record].row);
    num_waiting_ = sorted(std::move(rows)).size();
    restored_ = State();
}

} // namespace cpsched::slurm
