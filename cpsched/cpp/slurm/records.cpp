#include "records.h"

namespace cpsched::slurm {

RecordRange Records::of(Row row) const {
    const auto at = static_cast<std::size_t>(row);
    if (at >= first_of_row_.size() || first_of_row_[at] < 0)
        return {0, 0};
    RecordRange range = {static_cast<std::size_t>(first_of_row_[at]), 0};
    range.end = range.first + 1;
    while (range.end < records_.size() && records_[range.end].row == row)
        ++range.end;
    return range;
}

RecordRange Records::add(const std::vector<TemplateRecord> &templates, Row row, const Job &job,
                         Time since, Time reserves_after) {
    const std::size_t first = records_.size();
    for (const TemplateRecord &made : templates) {
        Record record = made.record;
        record.row = row;
        record.array = job.array;
        record.since = since;
        record.reserves_from = since + reserves_after;
        records_.push_back(record);
        amounts_.insert(amounts_.end(), made.amounts.begin(), made.amounts.end());
        num_amounts_ = made.amounts.size();
    }
    if (first_of_row_.size() <= static_cast<std::size_t>(row))
        first_of_row_.resize(static_cast<std::size_t>(row) + 1, -1);
    first_of_row_[static_cast<std::size_t>(row)] = static_cast<std::int64_t>(first);
    return {first, records_.size()};
}

void Records::clear() {
    records_.clear();
    amounts_.clear();
    first_of_row_.clear();
}

} // namespace cpsched::slurm
