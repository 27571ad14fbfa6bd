#include "limits.h"

namespace cpsched::slurm {

std::int64_t Limits::add_counter(std::int64_t most, bool stops) {
    counters_.push_back({0, most, stops});
    return static_cast<std::int64_t>(counters_.size()) - 1;
}

std::int64_t Limits::add_set(const std::vector<Entry> &entries) {
    entries_.insert(entries_.end(), entries.begin(), entries.end());
    first_.push_back(entries_.size());
    return static_cast<std::int64_t>(first_.size()) - 2;
}

Span<const Limits::Entry> Limits::set(std::int64_t number) const {
    const auto at = static_cast<std::size_t>(number);
    return span_of(entries_).part(first_[at], first_[at + 1]);
}

std::int64_t Limits::exceeded(std::int64_t number, const std::int64_t *amounts) const {
    for (const Entry &entry : set(number)) {
        if (!entry.is_checked)
            continue;
        const std::int64_t amount = amounts[entry.amount] * entry.factor;
        const Counter &own = counter(entry.counter);
        if (amount > 0 && own.used + amount > own.most)
            return entry.counter;
    }
    return -1;
}

void Limits::count(std::int64_t number, const std::int64_t *amounts, std::int64_t sign) {
    for (const Entry &entry : set(number)) {
        Counter &own = counters_[static_cast<std::size_t>(entry.counter)];
        own.used += sign * amounts[entry.amount] * entry.factor;
    }
}

void Limits::clear() {
    for (Counter &counter : counters_)
        counter.used = 0;
}

} // namespace cpsched::slurm
