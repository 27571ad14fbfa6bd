#include "nodes.h"

namespace cpsched {

namespace {

// So many times an amount is less than 2^63.
constexpr std::int64_t kFew = 1 << 10;

} // namespace

std::int64_t num_fitting_tasks(const Nodes &nodes, const Amount *free, std::int64_t node,
                               const RequestClass &what, std::int64_t most) {
    if (!nodes.is_eligible(what, node))
        return 0;
    const bool exclusive = what.is_exclusive();
    const Amount *capacity = nodes.capacity_of(node);
    std::int64_t fitting = most;
    for (int r = 0; r < nodes.num_resources; ++r) {
        if (exclusive && free[r] != capacity[r])
            return 0;
        const Amount left = free[r] - what.per_node(r);
        if (left < 0)
            return 0;
        const Amount need = what.task(r);
        if (need == 1)
            fitting = std::min(fitting, left);
        // Dividing is slow, and there is plenty of most resources; the product must not overflow.
        else if (need > 1 && (fitting >= kFew || need * fitting > left))
            fitting = std::min(fitting, left / need);
        if (fitting == 0)
            return 0;
    }
    return fitting;
}

} // namespace cpsched
