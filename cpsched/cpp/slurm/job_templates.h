// What the records of jobs have in common that are alike to Slurm.
//
// Whose a job is, which limits it has and what it costs follow from a policy by rules in Python.
// Jobs repeat: so each distinct job is looked at once, and its records are kept as templates.
//
// Cost: a hash of 14 numbers a job.
#pragma once

#include "record.h"

#include <array>
#include <unordered_map>

namespace cpsched::slurm {

/// One record of a template; of the record itself, what differs from job to job is not set.
struct TemplateRecord {
    Record record;
    /// What a job counts in limits: 1, and its amounts of each trackable resource.
    std::vector<std::int64_t> amounts;
};

class JobTemplates {
  public:
    /// `by_minutes`: whether jobs differ by their time limit in minutes, too.
    explicit JobTemplates(bool by_minutes) : by_minutes_(by_minutes) {}

    /// Return the records of jobs like one; nullptr if none like it has been added.
    const std::vector<TemplateRecord> *find(const Job &job) const;
    void add(const Job &job, std::vector<TemplateRecord> records);
    /// Forget all, as the numbers of request classes mean others.
    void clear();
    std::size_t size() const { return templates_.size(); }

    /// Return the first job of each unknown template among some rows.
    std::vector<Row> unknown(const Job *jobs, Row first, Row end) const;

  private:
    using Key = std::array<std::int64_t, 14>;
    struct Hash {
        std::size_t operator()(const Key &key) const;
    };
    Key key_of(const Job &job) const;

    bool by_minutes_;
    std::unordered_map<Key, std::size_t, Hash> numbers_;
    std::vector<std::vector<TemplateRecord>> templates_;
};

} // namespace cpsched::slurm
