#include "recorders.h"

#include <algorithm>

namespace cpsched {

void AllocationRecorder::on_start(Row row, const AllocationRanges &allocation, Time now) {
    if (used + allocation.count > size_)
        std::tie(rows_, size_) = grow_(used + allocation.count);
    const std::int64_t width = 5 + num_resources_;
    for (std::int64_t k = 0; k < allocation.count; ++k) {
        const Amount *amount = allocation.amount + k * num_resources_;
        const bool continues =
            k > 0 && allocation.first[k] == allocation.first[k - 1] + allocation.num_nodes[k - 1] &&
            allocation.tasks[k] == allocation.tasks[k - 1] &&
            are_equal(amount, amount - num_resources_, num_resources_);
        if (continues) {
            rows_[(used - 1) * width + 3] += allocation.num_nodes[k];
            continue;
        }
        std::int64_t *recorded = rows_ + used * width;
        const std::int64_t known[] = {row, now, allocation.first[k], allocation.num_nodes[k],
                                      allocation.tasks[k]};
        std::copy(known, known + 5, recorded);
        copy_amounts(amount, num_resources_, recorded + 5);
        ++used;
    }
}

} // namespace cpsched
