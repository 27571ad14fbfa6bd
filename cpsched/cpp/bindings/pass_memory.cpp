#include "pass_memory.h"

#include <algorithm>

namespace cpsched {

namespace {

std::vector<std::int64_t> copied(const Matrix &matrix) {
    return {matrix.data(), matrix.data() + matrix.size()};
}

/// Say whether the masks that were there before are as they were.
bool begins_alike(const Masks &now, const Masks &before) {
    return now.shape(0) >= before.shape(0) &&
           std::memcmp(now.data(), before.data(), before.size()) == 0;
}

} // namespace

PassMemory::PassMemory(std::int64_t allocator, const Matrix &capacity, const Matrix &levels)
    : PassState(static_cast<Allocator>(allocator), copied(capacity),
                static_cast<int>(capacity.shape(1)), copied(levels)),
      list(context), easy(context), conservative(context) {}

void PassMemory::look_at(nb::object store, const Matrix &columns, nb::object requests,
                         nb::object eligible, const Matrix &free_now, std::int64_t reordered) {
    const bool same_jobs = store.is(store_) && reordered == reordered_;
    if (!same_jobs) {
        classes.clear();
        free.forget_fits();
        store_ = std::move(store);
        reordered_ = reordered;
    }
    if (!requests.is(requests_)) {
        const auto rows = nb::cast<Matrix>(requests);
        nodes.requests = RequestTable(rows.data(), static_cast<std::int64_t>(rows.shape(0)),
                                      nodes.num_resources);
        requests_ = std::move(requests);
        free.requests_changed();
    }
    if (!eligible.is(eligible_)) {
        const auto masks = nb::cast<Masks>(eligible);
        const bool same = eligible_.is_valid() && begins_alike(masks, nb::cast<Masks>(eligible_));
        nodes.eligible = reinterpret_cast<const std::uint8_t *>(masks.data());
        eligible_ = std::move(eligible);
        free.masks_changed(same, static_cast<std::int64_t>(masks.shape(0)));
    }
    columns_ = columns;
    free_ = free_now;
    context.now.jobs = reinterpret_cast<const Job *>(columns.data());
    free_by_view = free_now.data();
}

void PassMemory::look_at_running(Time now, const Ints &running, const Ints &node, const Ints &count,
                                 const Matrix &amount) {
    running_ = running;
    allocated_first_ = node;
    allocated_nodes_ = count;
    allocated_amount_ = amount;
    context.now.now = now;
    context.now.running = span(running);
    context.now.allocated_first = node.data();
    context.now.allocated_nodes = count.data();
    context.now.allocated_amount = amount.data();
}

PassContext &PassMemory::begin() {
    free.begin_pass();
    free.follow(free_by_view);
    context.starts.clear();
    return context;
}

} // namespace cpsched
