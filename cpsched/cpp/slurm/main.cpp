#include "main.h"

namespace cpsched::slurm {

namespace {

/// No array has this number, not even "none".
constexpr std::int64_t kNoArray = -2;

/// Return the entry of a partition, growing a vector to have it; the first one is of none.
template <class T>
std::size_t entry(std::vector<T> &values, std::int64_t partition) {
    const auto at = static_cast<std::size_t>(partition + 1);
    if (at >= values.size())
        values.resize(at + 1);
    return at;
}

} // namespace

SlurmMain::SlurmMain(PassInput &input, Availability &profile, NodeChoice &choice)
    : input_(input), profile_(profile), choice_(choice) {}

void SlurmMain::run(const Queue &queue, std::int64_t depth, Starts &starts) {
    started_.clear();
    num_tried_ = 0;
    last_array_ = last_partition_ = kNoArray;
    tried_.assign(tried_.size(), 0);
    is_blocked_.assign(is_blocked_.size(), false);
    some_blocked_ = false;
    is_full_.assign(input_.reservations.size(), false);
    for (std::size_t place = 0; place < queue.size(); ++place) {
        const std::size_t number = queue[place];
        const Record &record = input_.records[number];
        if (has_started_elsewhere(input_, started_, record) || record.begins > input_.now.now)
            continue;
        if (is_over(depth))
            return;
        if (!takes_up(record) || waits_for_others(record))
            continue;
        const bool lacks_nodes =
            some_blocked_ && !has_nodes(record.partition, input_.job_of(number).nodes_min);
        // Whatever its limits are, unless one of them stops those behind it.
        if (lacks_nodes && !input_.settings.limits_stop)
            continue;
        const std::int64_t exceeded = input_.exceeded(number);
        if (exceeded >= 0 && !input_.stops(exceeded))
            continue;
        if (exceeded < 0 && (lacks_nodes || start(number, starts)))
            continue;
        wait_for(record);
    }
}

bool SlurmMain::is_over(std::int64_t depth) const {
    const auto num_started = static_cast<std::int64_t>(started_.size());
    return num_started >= input_.settings.most_starts || num_tried_ > depth;
}

bool SlurmMain::takes_up(const Record &record) {
    if (record.array >= 0 && record.array == last_array_ && record.partition == last_partition_)
        return false;
    last_array_ = record.array;
    last_partition_ = record.partition;
    if (++tried_[entry(tried_, record.partition)] > input_.settings.partition_depth)
        return false;
    ++num_tried_;
    return true;
}

bool SlurmMain::waits_for_others(const Record &record) const {
    if (record.reservation >= 0)
        return is_full_[static_cast<std::size_t>(record.reservation)] ||
               input_.reservations.is_later(record.reservation, input_.now.now);
    const auto at = static_cast<std::size_t>(record.partition + 1);
    return at < is_blocked_.size() && is_blocked_[at];
}

bool SlurmMain::has_nodes(std::int64_t partition, std::int64_t least) {
    if (partition < 0 || partition >= input_.partitions.count)
        return true;
    std::int64_t &left = nodes_left_[static_cast<std::size_t>(partition)];
    if (left < 0)
        left = count_nodes(partition);
    return left >= least;
}

std::int64_t SlurmMain::count_nodes(std::int64_t partition) const {
    const Ranges &ranges = profile_.ranges();
    const Amount *free = profile_.level(profile_.row(0));
    std::int64_t count = 0;
    for (std::size_t range = 0; range < ranges.count(); ++range) {
        const Amount left = free[range * static_cast<std::size_t>(input_.nodes.num_resources)];
        if (left >= 0 && input_.partitions.has(partition, ranges.first[range]))
            count += ranges.size[range];
    }
    return count;
}

bool SlurmMain::start(std::size_t number, Starts &starts) {
    const Record &record = input_.records[number];
    const Request request = input_.request_of(number);
    const Time until = input_.now.now + request.duration;
    if (until > record.until)
        return false;
    const Ranges &ranges = profile_.ranges();
    const Amount *free = free_until(record, until);
    fitting_.resize(ranges.count());
    if (shortage(input_.nodes, free, ranges, request, fitting_) != kFits ||
        !choice_.place(free, ranges, request, pieces_))
        return false;
    started_.push_back({number, pieces_});
    profile_.split(pieces_);
    profile_.take_off(profile_.row(0), request.what, pieces_);
    spans_of(pieces_, ranges, placement_);
    starts.add(record.row, placement_);
    input_.count(number, 1);
    // A task that starts says nothing of the next ones.
    last_array_ = kNoArray;
    return true;
}

const Amount *SlurmMain::free_until(const Record &record, Time until) {
    const Reservations &reservations = input_.reservations;
    const Amount *free = profile_.level(profile_.row(0));
    if (reservations.size() == 0)
        return free;
    const Ranges &ranges = profile_.ranges();
    const auto width = static_cast<std::size_t>(input_.nodes.num_resources);
    unreserved_.assign(free, free + ranges.count() * width);
    for (std::size_t number = 0; number < reservations.size(); ++number) {
        const auto own = static_cast<std::int64_t>(number);
        if (own == record.reservation || reservations.from[number] >= until ||
            input_.now.now >= reservations.until[number])
            continue;
        for (std::size_t range = 0; range < ranges.count(); ++range)
            if (reservations.nodes.has(own, ranges.first[range]))
                std::fill_n(unreserved_.begin() + static_cast<std::ptrdiff_t>(range * width), width,
                            -1);
    }
    return unreserved_.data();
}

void SlurmMain::wait_for(const Record &record) {
    if (record.reservation >= 0) {
        is_full_[static_cast<std::size_t>(record.reservation)] = true;
        return;
    }
    if (!record.holds_up(input_.now.now, input_.settings.least_priority))
        return;
    is_blocked_[entry(is_blocked_, record.partition)] = true;
    some_blocked_ = true;
    nodes_left_.assign(static_cast<std::size_t>(input_.partitions.count), -1);
    if (record.partition < 0 || record.partition >= input_.partitions.count)
        return;
    const Ranges &ranges = profile_.ranges();
    for (std::size_t range = 0; range < ranges.count(); ++range)
        if (input_.partitions.has(record.partition, ranges.first[range]))
            profile_.block(profile_.row(0), static_cast<std::int64_t>(range));
}

} // namespace cpsched::slurm
