#include "ranged_amounts.h"

#include <algorithm>

namespace cpsched {

RangedAmounts::RangedAmounts(int num_resources, const Amount *amounts, const RangeStarts &apart)
    : width_(num_resources), amounts_(amounts, amounts + apart.num_nodes() * num_resources),
      starts_(apart) {
    for (std::int64_t node = 1; node < apart.num_nodes(); ++node)
        if (!std::equal(of_range(node), of_range(node) + width_, of_range(node - 1)))
            starts_.begin_at(node);
}

void RangedAmounts::split_at(std::int64_t node) {
    if (node == starts_.num_nodes() || starts_.begins_at(node))
        return;
    copy_amounts(of(node), width_, amounts_.data() + node * width_);
    starts_.begin_at(node);
}

void RangedAmounts::join_at(std::int64_t node, const RangeStarts &apart) {
    if (node == 0 || node == starts_.num_nodes() || apart.begins_at(node))
        return;
    if (are_equal(of(node - 1), of_range(node), width_))
        starts_.join_at(node);
}

} // namespace cpsched
