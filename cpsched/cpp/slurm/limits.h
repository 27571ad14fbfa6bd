// Limits of QOS, associations, licences and job arrays, all as counters with a maximum.
//
// A job that starts adds to the counters of its limit set; it may not start while one of them would
// be too high. A limit on single jobs is a counter with maximum 0. After Slurm's pages "Resource
// Limits" and "Quality of Service"; which limits a job has is found out in
// cpsched/slurm/dispatch/limits.py.
//
// Cost: the size of a job's limit set, a dozen counters at most.
#pragma once

#include "../types.h"

namespace cpsched::slurm {

class Limits {
  public:
    struct Counter {
        std::int64_t used;
        std::int64_t most;
        /// Whether a job over it may stop those behind it (assoc_limit_stop).
        bool stops;
    };
    /// What a job adds to a counter: one of its amounts, so many times.
    struct Entry {
        std::int64_t counter;
        std::int64_t amount;
        std::int64_t factor;
        /// Whether that may be too much; otherwise it only counts.
        bool is_checked;
    };

    std::int64_t add_counter(std::int64_t most, bool stops);
    /// Add a limit set, and return its number.
    std::int64_t add_set(const std::vector<Entry> &entries);

    const Counter &counter(std::int64_t number) const {
        return counters_[static_cast<std::size_t>(number)];
    }
    Span<const Entry> set(std::int64_t number) const;

    /// Return the first counter that would be too high if a job started, -1 if none would be.
    std::int64_t exceeded(std::int64_t set, const std::int64_t *amounts) const;
    /// Let a job that starts count (`sign` 1), or one that ends count no more (-1).
    void count(std::int64_t set, const std::int64_t *amounts, std::int64_t sign);
    /// Let nothing count.
    void clear();

  private:
    std::vector<Counter> counters_;
    std::vector<Entry> entries_;
    std::vector<std::size_t> first_ = {0}; // of each set's entries, and one more
};

} // namespace cpsched::slurm
