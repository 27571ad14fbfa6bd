#include "job_templates.h"

#include <unordered_set>

namespace cpsched::slurm {

std::size_t JobTemplates::Hash::operator()(const Key &key) const {
    std::uint64_t mixed = 0;
    for (const std::int64_t number : key)
        mixed = (mixed ^ static_cast<std::uint64_t>(number)) * 1099511628211u;
    return static_cast<std::size_t>(mixed ^ (mixed >> 29));
}

JobTemplates::Key JobTemplates::key_of(const Job &job) const {
    return {job.queue,
            job.qos,
            job.user,
            job.group,
            job.licenses,
            job.reservation,
            job.request_id,
            job.tasks,
            job.nodes_min,
            job.nodes_max,
            job.nice,
            job.array_limit,
            job.array_limit > 0 ? job.array : -1,
            by_minutes_ ? divided_up(job.requested_time, 60) : 0};
}

const std::vector<TemplateRecord> *JobTemplates::find(const Job &job) const {
    const auto found = numbers_.find(key_of(job));
    return found == numbers_.end() ? nullptr : &templates_[found->second];
}

void JobTemplates::add(const Job &job, std::vector<TemplateRecord> records) {
    numbers_.insert_or_assign(key_of(job), templates_.size());
    templates_.push_back(std::move(records));
}

void JobTemplates::clear() {
    numbers_.clear();
    templates_.clear();
}

std::vector<Row> JobTemplates::unknown(const Job *jobs, Row first, Row end) const {
    std::unordered_set<Key, Hash> seen;
    std::vector<Row> rows;
    for (Row row = first; row < end; ++row) {
        const Key key = key_of(jobs[row]);
        if (numbers_.count(key) == 0 && seen.insert(key).second)
            rows.push_back(row);
    }
    return rows;
}

} // namespace cpsched::slurm
