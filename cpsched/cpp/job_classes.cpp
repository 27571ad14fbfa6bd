#include "job_classes.h"

#include <algorithm>

namespace cpsched {

namespace {

/// Return a reference to the entry of a row; the array grows where it is too short.
template <class T>
T &entry_of(std::vector<T> &by_row, Row row, T otherwise) {
    const auto at = static_cast<std::size_t>(row);
    if (at >= by_row.size())
        by_row.resize(std::max(at + 1, 2 * by_row.size()), otherwise);
    return by_row[at];
}

} // namespace

std::size_t JobClasses::Hash::operator()(const Key &key) const {
    std::uint64_t hash = 0;
    for (const std::int64_t value : key) {
        // The finalizer of splitmix64.
        hash = (hash ^ static_cast<std::uint64_t>(value)) + 0x9e3779b97f4a7c15U;
        hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9U;
        hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebU;
        hash ^= hash >> 31;
    }
    return static_cast<std::size_t>(hash);
}

void JobClasses::clear() {
    classes_.clear();
    class_of_.clear();
    next_.clear();
    sizes_.clear();
    size_at_.clear();
    linked_until_ = 0;
    numbers_.clear();
}

std::int32_t JobClasses::class_of(const Job *jobs, Row row) {
    std::int32_t &number = entry_of(class_of_, row, std::int32_t{-1});
    if (number >= 0)
        return number;
    const Job &job = jobs[row];
    const Key key{job.request_id,      job.tasks,         job.nodes_min,
                  job.nodes_max,       job.expected_wait, job.ranking_estimate,
                  job.runtime_estimate};
    number = numbers_.emplace(key, static_cast<std::int32_t>(classes_.size())).first->second;
    if (static_cast<std::size_t>(number) == classes_.size())
        classes_.push_back({job.request_id, job.tasks, job.nodes_min, job.nodes_max,
                            job.expected_wait, job.ranking_estimate, job.runtime_estimate});
    return number;
}

void JobClasses::settle(Row row, std::int64_t pass) {
    entry_of(settled_in_, row, std::int64_t{0}) = pass;
}

// --- links ---------------------------------------------------------------------------------------

void JobClasses::link(const Job *jobs, Span<const Row> queue) {
    const Row *first = std::lower_bound(queue.begin(), queue.end(), linked_until_);
    for (const Row *row = first; row != queue.end(); ++row) {
        if (jobs[*row].state != kWaiting)
            continue;
        const std::int32_t number = class_of(jobs, *row);
        JobClass &job_class = (*this)[number];
        if (job_class.first < 0) {
            job_class.first = *row;
            size_of(job_class).classes.push_back(number);
        } else {
            entry_of(next_, job_class.last, Row{-1}) = *row;
        }
        job_class.last = *row;
        entry_of(next_, *row, Row{-1}) = -1;
        linked_until_ = *row + 1;
    }
}

Row JobClasses::next_waiting(const Job *jobs, std::int64_t pass, Row row) const {
    while (row >= 0 && (jobs[row].state != kWaiting || is_settled(row, pass)))
        row = next_[static_cast<std::size_t>(row)];
    return row;
}

bool JobClasses::unlink_front(const Job *jobs, JobClass &job_class) const {
    while (job_class.first >= 0 && jobs[job_class.first].state != kWaiting)
        job_class.first = next_[static_cast<std::size_t>(job_class.first)];
    return job_class.first >= 0;
}

JobClasses::Size &JobClasses::size_of(const JobClass &job_class) {
    const std::array<std::int64_t, 4> key{job_class.request_id, job_class.tasks,
                                          job_class.nodes_min, job_class.nodes_max};
    const auto known = size_at_.emplace(key, sizes_.size()).first;
    if (known->second == sizes_.size())
        sizes_.emplace_back();
    return sizes_[known->second];
}

void JobClasses::may_start(const Job *jobs, FreeNodes &free, std::vector<Row> &rows) {
    rows.clear();
    if (free.is_full())
        return;
    const RequestTable &requests = free.nodes().requests;
    for (Size &size : sizes_) {
        if (size.classes.empty())
            continue;
        const JobClass &any = (*this)[size.classes.front()];
        if (!free.may_fit(request_of(jobs[any.last], requests)))
            continue;
        const std::int64_t left = free.num_fitting(any.request_id) / any.tasks;
        std::size_t kept = 0;
        for (const std::int32_t number : size.classes) {
            JobClass &job_class = (*this)[number];
            if (!unlink_front(jobs, job_class))
                continue;
            size.classes[kept++] = number;
            if (job_class.refused_in != free.pass())
                add_first(jobs, job_class, free.pass(), left, rows);
        }
        size.classes.resize(kept);
    }
    std::sort(rows.begin(), rows.end());
}

void JobClasses::add_first(const Job *jobs, const JobClass &job_class, std::int64_t pass,
                           std::int64_t left, std::vector<Row> &rows) const {
    for (Row row = job_class.first; left > 0; --left) {
        row = next_waiting(jobs, pass, row);
        if (row < 0)
            return;
        rows.push_back(row);
        row = next_[static_cast<std::size_t>(row)];
    }
}

} // namespace cpsched
