// The records of all jobs so far, and what each counts in limits.
//
// Cost: making the records of a job is a copy of its template.
#pragma once

#include "job_templates.h"

namespace cpsched::slurm {

/// Records of one job: [first, end).
struct RecordRange {
    std::size_t first;
    std::size_t end;
    bool empty() const { return first == end; }
};

class Records {
  public:
    std::size_t size() const { return records_.size(); }
    Record &operator[](std::size_t number) { return records_[number]; }
    const Record &operator[](std::size_t number) const { return records_[number]; }
    const std::vector<Record> &all() const { return records_; }
    /// What a record counts in limits, see TemplateRecord.
    const std::int64_t *amounts(std::size_t number) const {
        return amounts_.data() + number * num_amounts_;
    }
    std::size_t num_amounts() const { return num_amounts_; }

    /// Return the records of a job, an empty range if it has none.
    RecordRange of(Row row) const;
    /// Make the records of a job, whose age counts from a second on.
    RecordRange add(const std::vector<TemplateRecord> &templates, Row row, const Job &job,
                    Time since, Time reserves_after);
    /// Add a record by itself, which counts nowhere.
    void add(const Record &record) { records_.push_back(record); }
    void clear();

  private:
    std::vector<Record> records_;
    std::vector<std::int64_t> amounts_;
    std::size_t num_amounts_ = 0;
    std::vector<std::int64_t> first_of_row_; // -1: none
};

} // namespace cpsched::slurm
