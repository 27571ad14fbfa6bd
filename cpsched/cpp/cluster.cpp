#include "cluster.h"

#include <cmath>
#include <cstring>

namespace cpsched {

namespace {

constexpr std::int64_t kMillion = 1000000;
/// Products of two numbers of tasks and a million exceed 64 bits.
__extension__ using Wide = __int128;
/// So many changes of what is free are noted one by one.
constexpr std::size_t kMostChanges = 256;
/// An allocation table of so many entries is not worth compacting.
constexpr std::int64_t kSmallTable = 8192;

std::size_t at(std::int64_t position) {
    return static_cast<std::size_t>(position);
}

/// Return how long a job is expected to take on other tasks than it prefers, in seconds.
Time expected_seconds(Time seconds, std::int64_t preferred, std::int64_t tasks,
                      std::int64_t millionths) {
    const double serial = static_cast<double>(millionths) / kMillion;
    const double ratio = (serial + (1 - serial) / static_cast<double>(tasks)) /
                         (serial + (1 - serial) / static_cast<double>(preferred));
    return std::max<Time>(static_cast<Time>(std::ceil(static_cast<double>(seconds) * ratio)), 1);
}

} // namespace

std::int64_t parts_of_second(std::int64_t preferred, std::int64_t serial) {
    return serial == 0 ? preferred : kMillion;
}

std::int64_t parts_per_second(std::int64_t tasks, std::int64_t preferred, std::int64_t serial) {
    if (serial == 0)
        return tasks;
    const Wide shared = kMillion - serial;
    const Wide ahead = tasks * (Wide{serial} * preferred + shared);
    const Wide behind = preferred * (Wide{serial} * tasks + shared);
    return static_cast<std::int64_t>(std::max<Wide>(kMillion * ahead / behind, 1));
}

Time seconds_on(std::int64_t tasks, Time seconds, std::int64_t preferred, std::int64_t serial) {
    const Wide parts = Wide{seconds} * parts_of_second(preferred, serial);
    const Wide speed = parts_per_second(tasks, preferred, serial);
    return static_cast<Time>((parts + speed - 1) / speed);
}

Cluster::Cluster(std::int64_t num_nodes, int num_resources, std::vector<Amount> capacity)
    : num_nodes_(num_nodes), num_resources_(num_resources), capacity_(std::move(capacity)),
      free_(num_resources, capacity_.data(), single_range(num_nodes)), alike_(free_.starts()),
      change_(at(num_resources)), free_by_node_(capacity_.size()), queue_(256), running_(256),
      allocated_first_(kSmallTable), allocated_nodes_(kSmallTable), allocated_tasks_(kSmallTable),
      allocated_amount_(at(kSmallTable * num_resources)) {
    std::copy(capacity_.begin(), capacity_.end(), free_by_node_.data());
}

// --- the queue -----------------------------------------------------------------------------------

Span<const Row> Cluster::waiting() {
    compact_queue();
    return {queue_.data() + queue_first_, at(queue_end_ - queue_first_)};
}

Span<const Row> Cluster::queue() {
    leave_front();
    if (queue_end_ - queue_first_ > 2 * num_waiting_)
        compact_queue();
    return {queue_.data() + queue_first_, at(queue_end_ - queue_first_)};
}

void Cluster::leave_front() {
    while (queue_first_ < queue_end_ && jobs_[queue_[at(queue_first_)]].state != kWaiting)
        ++queue_first_;
}

void Cluster::compact_queue() {
    leave_front();
    if (queue_end_ - queue_first_ == num_waiting_)
        return;
    std::int64_t end = queue_first_;
    for (std::int64_t i = queue_first_; i < queue_end_; ++i)
        if (jobs_[queue_[at(i)]].state == kWaiting)
            queue_[at(end++)] = queue_[at(i)];
    queue_end_ = end;
}

void Cluster::enqueue(Row row) {
    if (queue_end_ == static_cast<std::int64_t>(queue_.size())) {
        compact_queue();
        const std::int64_t count = queue_end_ - queue_first_;
        if (2 * count >= static_cast<std::int64_t>(queue_.size()) || queue_first_ == 0)
            queue_.reserve(2 * queue_.size(), at(queue_end_));
        std::memmove(queue_.data(), queue_.data() + queue_first_, at(count) * sizeof(Row));
        queue_first_ = 0;
        queue_end_ = count;
    }
    // Released later than jobs submitted after it: back to its own place.
    std::int64_t place = queue_end_;
    while (place > queue_first_ && queue_[at(place - 1)] > row) {
        queue_[at(place)] = queue_[at(place - 1)];
        --place;
    }
    queue_[at(place)] = row;
    ++queue_end_;
    ++num_waiting_;
    jobs_[row].state = kWaiting;
}

void Cluster::return_to_queue(Row row) {
    // A job that has left the queue may still have an entry in it.
    compact_queue();
    ++reordered;
    enqueue(row);
}

void Cluster::dequeue(Row row, JobState state) {
    jobs_[row].state = state;
    --num_waiting_;
}

void Cluster::requeue(Row row) {
    leave(row);
    ++jobs_[row].attempts;
    jobs_[row].wanted_tasks = 0;
    return_to_queue(row);
}

void Cluster::set_queue(Span<const Row> rows) {
    queue_ = SharedArray<Row>(rows.size() + 256);
    std::copy(rows.begin(), rows.end(), queue_.data());
    queue_first_ = 0;
    queue_end_ = num_waiting_ = static_cast<std::int64_t>(rows.size());
}

Row Cluster::oldest(Row size) {
    Row oldest = size;
    compact_queue();
    if (num_waiting_ > 0)
        oldest = queue_[at(queue_first_)];
    for (const Row row : running())
        oldest = std::min(oldest, row);
    return oldest;
}

// --- running jobs --------------------------------------------------------------------------------

Refusal Cluster::check(const Job &job, const AllocationRanges &given) const {
    std::int64_t total = 0;
    std::int64_t num_nodes = 0;
    for (std::int64_t k = 0; k < given.count; ++k) {
        Refusal refusal = check_range(job, given, k);
        if (refusal.fault != Fault::kNone) {
            refusal.position += num_nodes;
            return refusal;
        }
        num_nodes += given.num_nodes[k];
        total += given.tasks[k] * given.num_nodes[k];
    }
    if (total < job.tasks_min || total > job.tasks_max)
        return {Fault::kTasks, 0};
    if (num_nodes < job.nodes_min || num_nodes > job.nodes_max)
        return {Fault::kBounds, 0};
    return {};
}

/// Check one range; the position is that within the range.
Refusal Cluster::check_range(const Job &job, const AllocationRanges &given, std::int64_t k) const {
    const RequestClass what = requests_[job.request_id];
    const std::uint8_t *allowed = eligible_ + what.eligible_class() * num_nodes_;
    const std::int64_t first = given.first[k];
    const std::int64_t end = first + given.num_nodes[k];
    const std::int64_t behind = k > 0 ? given.first[k - 1] + given.num_nodes[k - 1] : 0;
    const std::int64_t tasks = given.tasks[k];
    if (first < behind)
        return {Fault::kNode, 0};
    for (std::int64_t node = first; node < end;) {
        if (node >= num_nodes_)
            return {Fault::kNode, node - first};
        // No more than the job has, so that neither their sum nor a product overflows.
        if (tasks < 1 || tasks > job.tasks_max)
            return {Fault::kTasks, node - first + 1};
        if (!allowed[node])
            return {Fault::kEligible, node - first};
        if (what.is_even() && tasks != given.tasks[0])
            return {Fault::kSplit, node - first};
        if (what.is_contiguous() && k > 0 && first != behind)
            return {Fault::kGap, node - first};
        Refusal refusal = check_alike(job, node, tasks, given.amount + k * num_resources_);
        if (refusal.fault != Fault::kNone) {
            refusal.position = node - first;
            return refusal;
        }
        // Neighbours that are alike need no check but whether the job may use them.
        const std::int64_t last = std::min({end, alike_.end_of(node), free_.starts().end_of(node)});
        const void *other = std::memchr(allowed + node, 0, at(last - node));
        node = other != nullptr ? static_cast<const std::uint8_t *>(other) - allowed : last;
    }
    return {};
}

/// Check what a job takes of one node.
Refusal Cluster::check_alike(const Job &job, std::int64_t node, std::int64_t tasks,
                             const Amount *amount) const {
    const RequestClass what = requests_[job.request_id];
    const Amount *left = free_.of(node);
    for (int r = 0; r < num_resources_; ++r) {
        const Amount capacity = capacity_[at(node * num_resources_ + r)];
        const Amount needed = tasks * what.task(r) + what.per_node(r);
        const Amount least = what.is_exclusive() ? capacity : needed;
        // A range: on each node more than the fewest, up to the most it can use.
        const Amount more =
            what.is_exclusive() ? 0 : std::max<Amount>(what.per_node_max(r) - what.per_node(r), 0);
        if (amount[r] < least || amount[r] > least + more)
            return {Fault::kAmount, 0, r};
        // A job alone on its nodes takes all of them; its tasks must fit in them too.
        if (amount[r] > left[r] || needed > capacity)
            return {Fault::kFree, 0, r};
    }
    return {};
}

Refusal Cluster::take(Row row, const AllocationRanges &given, Time now) {
    Job &job = jobs_[row];
    const Refusal refusal = check(job, given);
    if (refusal.fault != Fault::kNone)
        return refusal;
    std::int64_t total = 0;
    for (std::int64_t k = 0; k < given.count; ++k) {
        change_free(given.first[k], given.num_nodes[k], given.amount + k * num_resources_, -1);
        total += given.tasks[k] * given.num_nodes[k];
    }
    job.alloc_first = allocated_end_;
    job.alloc_count = given.count;
    job.state = kRunning;
    job.start = job.since = now;
    job.held_tasks = total;
    allocated_end_ += given.count;
    num_allocated_ += given.count;
    --num_waiting_;
    Time seconds = std::max<Time>(job.runtime_estimate, 1);
    if (total != job.tasks)
        seconds = expected_seconds(seconds, job.tasks, total, job.serial);
    enter_running(row, now + seconds);
    return refusal;
}

Refusal Cluster::start(Row row, const AllocationRanges &allocation, Time now) {
    const std::int64_t first = reserve_allocation(allocation.count);
    const Refusal refusal = take(row, allocation, now);
    if (refusal.fault == Fault::kNone)
        for (std::int64_t k = 0; k < allocation.count; ++k)
            allocate(first + k, allocation.first[k], allocation.num_nodes[k], allocation.tasks[k],
                     allocation.amount + k * num_resources_);
    return refusal;
}

Refusal Cluster::start(Row row, Span<const NodeSpan> placement, Time now) {
    const RequestClass what = requests_[jobs_[row].request_id];
    // A job alone on its nodes takes all of them, and a span may reach over unlike nodes.
    const auto end_of_range = [&](std::int64_t node, std::int64_t end) {
        return what.is_exclusive() ? std::min(alike_.end_of(node), end) : end;
    };
    std::int64_t count = 0;
    for (const NodeSpan &span : placement)
        for (std::int64_t node = span.first; node < span.first + span.count; ++count)
            node = end_of_range(node, span.first + span.count);
    const std::int64_t first = reserve_allocation(count);
    std::int64_t k = first;
    for (const NodeSpan &span : placement) {
        const std::int64_t end = span.first + span.count;
        for (std::int64_t node = span.first; node < end; ++k) {
            const std::int64_t behind = end_of_range(node, end);
            for (int r = 0; r < num_resources_; ++r)
                change_[at(r)] =
                    what.amount_on(capacity_[at(node * num_resources_ + r)], span.tasks, r);
            allocate(k, node, behind - node, span.tasks, change_.data());
            node = behind;
        }
    }
    return take(row,
                {allocated_first_.data() + first, allocated_nodes_.data() + first,
                 allocated_tasks_.data() + first, allocated_amount_.data() + first * num_resources_,
                 count},
                now);
}

void Cluster::allocate(std::int64_t k, std::int64_t first, std::int64_t num_nodes,
                       std::int64_t tasks, const Amount *amount) {
    allocated_first_[at(k)] = first;
    allocated_nodes_[at(k)] = num_nodes;
    allocated_tasks_[at(k)] = tasks;
    copy_amounts(amount, num_resources_, allocated_amount_.data() + k * num_resources_);
}

std::int64_t Cluster::reserve_allocation(std::int64_t count) {
    const std::int64_t size = static_cast<std::int64_t>(allocated_first_.size());
    if (allocated_end_ + count > size && allocated_end_ > 2 * num_allocated_)
        compact_allocations();
    const std::size_t needed = at(allocated_end_ + count);
    for (SharedArray<std::int64_t> *allocated :
         {&allocated_first_, &allocated_nodes_, &allocated_tasks_})
        allocated->reserve(needed, at(allocated_end_));
    allocated_amount_.reserve(allocated_first_.size() * at(num_resources_),
                              at(allocated_end_ * num_resources_));
    return allocated_end_;
}

void Cluster::compact_allocations() {
    // Who looks at the present allocations keeps them.
    const SharedArray<std::int64_t> first = allocated_first_;
    const SharedArray<std::int64_t> num_nodes = allocated_nodes_;
    const SharedArray<std::int64_t> tasks = allocated_tasks_;
    const SharedArray<Amount> amount = allocated_amount_;
    allocated_first_ = SharedArray<std::int64_t>(first.size());
    allocated_nodes_ = SharedArray<std::int64_t>(first.size());
    allocated_tasks_ = SharedArray<std::int64_t>(first.size());
    allocated_amount_ = SharedArray<Amount>(amount.size());
    std::int64_t end = 0;
    for (const Row row : running()) {
        Job &job = jobs_[row];
        for (std::int64_t k = job.alloc_first; k < job.alloc_first + job.alloc_count; ++k, ++end)
            allocate(end, first[at(k)], num_nodes[at(k)], tasks[at(k)],
                     amount.data() + k * num_resources_);
        job.alloc_first = end - job.alloc_count;
    }
    allocated_end_ = num_allocated_ = end;
}

AllocationRanges Cluster::allocation(Row row) const {
    const Job &job = jobs_[row];
    return {allocated_first_.data() + job.alloc_first, allocated_nodes_.data() + job.alloc_first,
            allocated_tasks_.data() + job.alloc_first,
            allocated_amount_.data() + job.alloc_first * num_resources_, job.alloc_count};
}

void Cluster::change_free(std::int64_t first, std::int64_t num_nodes, const Amount *amount,
                          int sign) {
    const std::int64_t end = first + num_nodes;
    for (int r = 0; r < num_resources_; ++r)
        change_[at(r)] = sign * amount[r];
    free_.split(first, end);
    for (std::int64_t node = first; node < end; node = free_.starts().end_of(node))
        free_.add_to_range(node, change_.data());
    free_.join(first, end, alike_);
    if (changed_.size() < kMostChanges)
        changed_.emplace_back(first, end);
}

const SharedArray<Amount> &Cluster::free_array() {
    if (changed_.size() == kMostChanges)
        changed_.assign(1, {0, num_nodes_});
    for (const auto &[first, end] : changed_) {
        for (std::int64_t node = first; node < end;) {
            const std::int64_t behind = std::min(free_.starts().end_of(node), end);
            const Amount *left = free_.of(node);
            for (; node < behind; ++node)
                std::copy_n(left, num_resources_, free_by_node_.data() + node * num_resources_);
        }
    }
    changed_.clear();
    return free_by_node_;
}

Refusal Cluster::resize(Row row, const AllocationRanges &allocation, Time now) {
    Job &job = jobs_[row];
    const Job before = job;
    const AllocationRanges allocated = this->allocation(row);
    const std::vector<std::int64_t> first(allocated.first, allocated.first + allocated.count);
    const std::vector<std::int64_t> num_nodes(allocated.num_nodes,
                                              allocated.num_nodes + allocated.count);
    const std::vector<std::int64_t> tasks(allocated.tasks, allocated.tasks + allocated.count);
    const std::vector<Amount> amount(allocated.amount,
                                     allocated.amount + allocated.count * num_resources_);
    const std::int64_t speed = parts_per_second(job.held_tasks, job.tasks, job.serial);
    undo_start(row);
    const Refusal refusal = start(row, allocation, now);
    if (refusal.fault != Fault::kNone) {
        start(row, {first.data(), num_nodes.data(), tasks.data(), amount.data(), allocated.count},
              before.since);
        job.start = before.start;
        expect_end(row, before.expected_end);
        return refusal;
    }
    job.start = before.start;
    const Wide left = Wide{std::max<Time>(before.expected_end - now, 1)} * speed;
    const Wide faster = parts_per_second(job.held_tasks, job.tasks, job.serial);
    expect_end(row, now + job.resize_cost + static_cast<Time>((left + faster - 1) / faster));
    return refusal;
}

void Cluster::undo_start(Row row) {
    leave(row);
    jobs_[row].state = kWaiting;
    ++num_waiting_;
}

void Cluster::leave(Row row) {
    Job &job = jobs_[row];
    const AllocationRanges allocated = allocation(row);
    for (std::int64_t k = 0; k < allocated.count; ++k)
        change_free(allocated.first[k], allocated.num_nodes[k],
                    allocated.amount + k * num_resources_, 1);
    leave_running(row);
    job.state = kEnded;
    num_allocated_ -= job.alloc_count;
    if (!down_.empty())
        hide_down();
}

std::int64_t Cluster::place_by_end(Row row, Time end) const {
    const Row *first = running_.data();
    const Row *place =
        std::lower_bound(first, first + num_running_, row, [this, end](Row other, Row added) {
            const Time others = jobs_[other].expected_end;
            return others != end ? others < end : other < added;
        });
    return place - first;
}

void Cluster::enter_running(Row row, Time end) {
    running_.reserve(at(num_running_ + 1), at(num_running_));
    const std::int64_t place = place_by_end(row, end);
    Row *target = running_.data() + place;
    std::memmove(target + 1, target, at(num_running_ - place) * sizeof(Row));
    *target = row;
    ++num_running_;
    jobs_[row].expected_end = end;
}

void Cluster::leave_running(Row row) {
    const std::int64_t place = place_by_end(row, jobs_[row].expected_end);
    Row *target = running_.data() + place;
    --num_running_;
    std::memmove(target, target + 1, at(num_running_ - place) * sizeof(Row));
}

void Cluster::expect_end(Row row, Time end) {
    ++corrections;
    leave_running(row);
    enter_running(row, end);
}

void Cluster::correct_overdue(Correction correction, Time now) {
    while (is_overdue(now)) {
        const Row row = running_[0];
        const Job &job = jobs_[row];
        Time end =
            job.start + seconds_on(job.held_tasks, job.requested_time, job.tasks, job.serial);
        if (correction == Correction::kDouble) {
            Time length = std::max<Time>(job.expected_end - job.start, 1);
            // What it is now does not depend on when it was looked at before.
            while (job.start + length <= now)
                length *= 2;
            end = std::min(end, job.start + length);
        }
        expect_end(row, std::max(end, now + 1));
    }
}

Time Cluster::ran(Row row, Time now) const {
    const Job &job = jobs_[row];
    const auto known = ran_before.find(row);
    Time passed = now - job.since;
    // It was resized then, and made no progress at first.
    if (known != ran_before.end())
        passed = std::max<Time>(passed - job.resize_cost, 0);
    if (job.held_tasks != job.tasks) {
        const Wide parts = Wide{passed} * parts_per_second(job.held_tasks, job.tasks, job.serial);
        passed = static_cast<Time>(parts / parts_of_second(job.tasks, job.serial));
    }
    return passed + (known != ran_before.end() ? known->second : 0);
}

// --- when the dispatcher is asked
// ------------------------------------------------------------------

void Cluster::await_switches(Row row, Time now) {
    const Job &job = jobs_[row];
    if (job.switch_wait >= 0 && requests_[job.request_id].max_switches() > 0)
        switch_ends.emplace(now + job.switch_wait, row);
}

void Cluster::relax_switches(Row row) {
    Job &job = jobs_[row];
    if (job.state == kEnded)
        return;
    job.request_id = requests_.without_switches(job.request_id);
    relaxed.insert(row);
    // What is remembered of the job is what it asked for before.
    ++reordered;
    if (job.state == kWaiting)
        has_news = true;
}

bool Cluster::is_due(Time now) {
    while (!wakes.empty() && *wakes.begin() <= now) {
        wakes.erase(wakes.begin());
        has_news = true;
    }
    while (!switch_ends.empty() && switch_ends.begin()->first <= now) {
        const Row row = switch_ends.begin()->second;
        switch_ends.erase(switch_ends.begin());
        relax_switches(row);
    }
    return has_news;
}

Time Cluster::next_wake() {
    while (!switch_ends.empty() && jobs_[switch_ends.begin()->second].state == kEnded)
        switch_ends.erase(switch_ends.begin());
    const Time wake = wakes.empty() ? kFar : *wakes.begin();
    return switch_ends.empty() ? wake : std::min(wake, switch_ends.begin()->first);
}

// --- nodes ---------------------------------------------------------------------------------------

void Cluster::set_down(const std::vector<std::int64_t> &nodes) {
    const std::set<std::int64_t> wanted(nodes.begin(), nodes.end());
    for (const std::int64_t node : wanted)
        down_.try_emplace(node, at(num_resources_), 0);
    for (auto known = down_.begin(); known != down_.end();) {
        if (wanted.count(known->first) > 0) {
            ++known;
            continue;
        }
        change_free(known->first, 1, known->second.data(), 1);
        known = down_.erase(known);
    }
    hide_down();
}

void Cluster::hide_down() {
    for (auto &[node, hidden] : down_) {
        const std::vector<Amount> left(free_.of(node), free_.of(node) + num_resources_);
        for (int r = 0; r < num_resources_; ++r)
            hidden[at(r)] += left[at(r)];
        change_free(node, 1, left.data(), -1);
    }
}

std::vector<std::int64_t> Cluster::down() const {
    std::vector<std::int64_t> nodes;
    nodes.reserve(down_.size());
    for (const auto &[node, hidden] : down_)
        nodes.push_back(node);
    return nodes;
}

} // namespace cpsched
