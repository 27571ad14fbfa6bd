#include "backfill.h"

namespace cpsched::slurm {

namespace {

/// Jobs that get nodes between checks whether others can still start.
constexpr int kSettledBetween = 4;
/// No array has this number, not even "none".
constexpr std::int64_t kNoArray = -2;

Time rounded_down(Time second, Time resolution) {
    const Time rest = second % resolution;
    return second - (rest < 0 ? rest + resolution : rest);
}

} // namespace

SlurmBackfill::SlurmBackfill(PassInput &input, Availability &profile, Placer &first_fit,
                             NodeChoice &choice, std::int64_t num_partitions)
    : input_(input), profile_(profile), choice_(choice), search_(profile, first_fit),
      bounds_(input.nodes), counts_(input.settings, num_partitions),
      candidates_(input, profile, counts_) {}

void SlurmBackfill::clear() {
    candidates_.clear();
    started_.clear();
}

bool SlurmBackfill::begin(std::vector<std::size_t> jobs) {
    started_.clear();
    candidates_.begin(std::move(jobs));
    return candidates_.size() > 0;
}

void SlurmBackfill::run(Starts &starts) {
    bounds_.clear();
    counts_.clear();
    last_array_ = last_partition_ = kNoArray;
    of_array_ = 0;
    was_rejected_ = false;
    keeps_reserved_ = input_.reservations.size() > 0;
    num_settled_ = 0;
    place_ = 0;
    end_ = candidates_.size();
    look_anew(0);
    for (; !is_over(); ++place_) {
        const std::size_t number = candidates_[place_];
        if (looks_at(input_.records[number]))
            plan(number, starts);
    }
}

bool SlurmBackfill::is_over() {
    if (num_settled_ == kSettledBetween) {
        num_settled_ = 0;
        end_ = candidates_.end_of_startable(place_, end_);
    }
    const auto num_started = static_cast<std::int64_t>(started_.size());
    return place_ >= end_ || num_started >= input_.settings.backfill_starts;
}

bool SlurmBackfill::looks_at(const Record &record) {
    const bool is_next = record.array == last_array_ && record.partition == last_partition_;
    // What holds for a task of an array holds for the later ones.
    if (record.array >= 0 && is_next && was_rejected_)
        return false;
    if (is_passed_over(record))
        return false;
    if (!is_next) {
        last_array_ = record.array;
        last_partition_ = record.partition;
        of_array_ = 0;
    }
    return true;
}

bool SlurmBackfill::is_passed_over(const Record &record) {
    const Time now = input_.now.now;
    if (has_started_elsewhere(input_, started_, record) || record.begins > now)
        return true;
    const std::int64_t exceeded = candidates_.exceeded(place_);
    if (exceeded >= 0 && !input_.stops(exceeded))
        return true;
    return counts_.consider(record) || input_.reservations.is_later(record.reservation, now);
}

bool SlurmBackfill::may_reserve(const Record &record) {
    if (!record.holds_up(input_.now.now, input_.settings.least_priority) ||
        !counts_.may_reserve(record))
        return false;
    return record.array < 0 || of_array_ < input_.settings.array_reservations;
}

void SlurmBackfill::plan(std::size_t number, Starts &starts) {
    Record &record = input_.records[number];
    if (keeps_reserved_ && record.reservation < 0)
        keep_reserved();
    const Request request = input_.request_of(number);
    const bool may_wait = may_reserve(record);
    const bool is_held = candidates_.exceeded(place_) >= 0;
    std::optional<std::size_t> segment;
    if (input_.now.now + request.duration <= record.until)
        segment = first_segment(request, may_wait);
    was_rejected_ = !segment || (*segment == 0 && is_held && !may_wait);
    if (was_rejected_)
        return;
    record.planned = profile_.time(*segment);
    choice_.place(search_.least(), profile_.ranges(), request, pieces_);
    profile_.split(pieces_);
    ++num_settled_;
    if (*segment == 0 && !is_held)
        start(number, request, starts);
    else
        reserve(record, request, *segment);
}

std::optional<std::size_t> SlurmBackfill::first_segment(Request request, bool may_wait) {
    request.duration += input_.settings.gap;
    const std::vector<Time> &times = profile_.times();
    const auto segment_from = [&times](Time second) {
        return static_cast<std::size_t>(std::lower_bound(times.begin(), times.end(), second) -
                                        times.begin());
    };
    const Time now = times[0];
    const std::size_t begin = segment_from(bounds_.earliest(request, now));
    const std::size_t end = segment_from(now + input_.settings.window + 1);
    const auto segment =
        search_.find_segment(request, begin, may_wait ? end : std::min<std::size_t>(end, 1),
                             bounds_.most_fitting(request, profile_));
    if (may_wait || segment)
        bounds_.note(request, segment ? times[*segment] : kFar);
    return segment;
}

void SlurmBackfill::start(std::size_t number, const Request &request, Starts &starts) {
    const Row row = input_.records[number].row;
    profile_.occupy(0, input_.now.now + request.duration, request.what, pieces_);
    spans_of(pieces_, profile_.ranges(), placement_);
    starts.add(row, placement_);
    started_.push_back({number, {}});
    input_.count(number, 1);
    look_anew(place_ + 1);
}

void SlurmBackfill::reserve(const Record &record, const Request &request, std::size_t segment) {
    const Time end = profile_.time(segment) + request.duration;
    if (input_.settings.whole_nodes)
        keep_nodes(profile_.time(segment), end);
    else
        profile_.occupy(segment, end, request.what, pieces_);
    ++of_array_;
    counts_.reserve(record);
}

void SlurmBackfill::keep_nodes(Time from, Time until) {
    const Time resolution = std::max<Time>(input_.settings.resolution, 1);
    const std::size_t first = profile_.segment_at(rounded_down(from, resolution));
    const std::size_t behind = profile_.segment_at(rounded_down(until, resolution));
    if (behind > first)
        profile_.block(first, behind, pieces_);
}

void SlurmBackfill::keep_reserved() {
    keeps_reserved_ = false;
    const Reservations &reservations = input_.reservations;
    const Ranges &ranges = profile_.ranges();
    for (std::size_t number = 0; number < reservations.size(); ++number) {
        if (reservations.until[number] <= profile_.time(0))
            continue;
        pieces_.clear();
        for (std::size_t range = 0; range < ranges.count(); ++range)
            if (reservations.nodes.has(static_cast<std::int64_t>(number), ranges.first[range]))
                pieces_.push_back({static_cast<std::int64_t>(range), ranges.size[range], 1});
        const std::size_t first = profile_.segment_at(reservations.from[number]);
        profile_.block(first, profile_.segment_at(reservations.until[number]), pieces_);
    }
}

void SlurmBackfill::look_anew(std::size_t first) {
    candidates_.look_anew(first);
    if (input_.settings.only_starts) {
        end_ = candidates_.size();
        num_settled_ = kSettledBetween;
    }
}

} // namespace cpsched::slurm
