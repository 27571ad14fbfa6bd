#include "cluster.h"

#include <cmath>
#include <cstring>

namespace cpsched {

namespace {

constexpr std::int64_t kMillion = 1000000;
/// Products of two numbers of tasks and a million exceed 64 bits.
__extension__ using Wide = __int128;
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
      free_(capacity_.size()), queue_(256), running_(256), node_(kSmallTable), tasks_(kSmallTable),
      amount_(at(kSmallTable * num_resources)) {
    std::copy(capacity_.begin(), capacity_.end(), free_.data());
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

Refusal Cluster::check(const Job &job, const AllocationArrays &given) const {
    const RequestClass what = requests_[job.request_id];
    const std::uint8_t *allowed = eligible_ + what.eligible_class() * num_nodes_;
    std::int64_t total = 0;
    for (std::int64_t k = 0; k < given.count; ++k) {
        const std::int64_t node = given.node[k];
        const std::int64_t tasks = given.tasks[k];
        if (node < 0 || node >= num_nodes_ || (k > 0 && node <= given.node[k - 1]))
            return {Fault::kNode, k};
        // No more than the job has, so that neither their sum nor a product overflows.
        if (tasks < 1 || tasks > job.tasks_max)
            return {Fault::kTasks, k + 1};
        if (!allowed[node])
            return {Fault::kEligible, k};
        if (what.is_even() && tasks != given.tasks[0])
            return {Fault::kSplit, k};
        if (what.is_contiguous() && k > 0 && node != given.node[k - 1] + 1)
            return {Fault::kGap, k};
        for (int r = 0; r < num_resources_; ++r) {
            const Amount capacity = capacity_[at(node * num_resources_ + r)];
            const Amount needed = tasks * what.task(r) + what.per_node(r);
            const Amount least = what.is_exclusive() ? capacity : needed;
            // A range: on each node more than the fewest, up to the most it can use.
            const Amount more = what.is_exclusive()
                                    ? 0
                                    : std::max<Amount>(what.per_node_max(r) - what.per_node(r), 0);
            const Amount amount = given.amount[k * num_resources_ + r];
            if (amount < least || amount > least + more)
                return {Fault::kAmount, k, r};
            // A job alone on its nodes takes all of them; its tasks must fit in them too.
            if (amount > free_[at(node * num_resources_ + r)] || needed > capacity)
                return {Fault::kFree, k, r};
        }
        total += tasks;
    }
    if (total < job.tasks_min || total > job.tasks_max)
        return {Fault::kTasks, 0};
    if (given.count < job.nodes_min || given.count > job.nodes_max)
        return {Fault::kBounds, 0};
    return {};
}

Refusal Cluster::take(Row row, const AllocationArrays &given, Time now) {
    Job &job = jobs_[row];
    const Refusal refusal = check(job, given);
    if (refusal.fault != Fault::kNone)
        return refusal;
    std::int64_t total = 0;
    for (std::int64_t k = 0; k < given.count; ++k) {
        Amount *left = free_.data() + given.node[k] * num_resources_;
        for (int r = 0; r < num_resources_; ++r)
            left[r] -= given.amount[k * num_resources_ + r];
        total += given.tasks[k];
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

Refusal Cluster::start(Row row, const AllocationArrays &allocation, Time now) {
    const std::int64_t first = reserve_allocation(allocation.count);
    const Refusal refusal = take(row, allocation, now);
    if (refusal.fault == Fault::kNone) {
        std::copy_n(allocation.node, allocation.count, node_.data() + first);
        std::copy_n(allocation.tasks, allocation.count, tasks_.data() + first);
        std::copy_n(allocation.amount, allocation.count * num_resources_,
                    amount_.data() + first * num_resources_);
    }
    return refusal;
}

Refusal Cluster::start(Row row, Span<const NodeSpan> placement, Time now) {
    std::int64_t count = 0;
    for (const NodeSpan &span : placement)
        count += span.count;
    const std::int64_t first = reserve_allocation(count);
    const RequestClass what = requests_[jobs_[row].request_id];
    std::int64_t k = first;
    for (const NodeSpan &span : placement) {
        for (std::int64_t node = span.first; node < span.first + span.count; ++node, ++k) {
            node_[at(k)] = node;
            tasks_[at(k)] = span.tasks;
            for (int r = 0; r < num_resources_; ++r)
                amount_[at(k * num_resources_ + r)] =
                    what.amount_on(capacity_[at(node * num_resources_ + r)], span.tasks, r);
        }
    }
    return take(row,
                {node_.data() + first, tasks_.data() + first,
                 amount_.data() + first * num_resources_, count},
                now);
}

std::int64_t Cluster::reserve_allocation(std::int64_t count) {
    const std::int64_t size = static_cast<std::int64_t>(node_.size());
    if (allocated_end_ + count > size && allocated_end_ > 2 * num_allocated_)
        compact_allocations();
    const std::size_t needed = at(allocated_end_ + count);
    node_.reserve(needed, at(allocated_end_));
    tasks_.reserve(needed, at(allocated_end_));
    amount_.reserve(node_.size() * at(num_resources_), at(allocated_end_ * num_resources_));
    return allocated_end_;
}

void Cluster::compact_allocations() {
    // Who looks at the present allocations keeps them.
    const SharedArray<std::int64_t> node = node_;
    const SharedArray<std::int64_t> tasks = tasks_;
    const SharedArray<Amount> amount = amount_;
    node_ = SharedArray<std::int64_t>(node.size());
    tasks_ = SharedArray<std::int64_t>(tasks.size());
    amount_ = SharedArray<Amount>(amount.size());
    std::int64_t end = 0;
    for (const Row row : running()) {
        Job &job = jobs_[row];
        std::copy_n(node.data() + job.alloc_first, job.alloc_count, node_.data() + end);
        std::copy_n(tasks.data() + job.alloc_first, job.alloc_count, tasks_.data() + end);
        std::copy_n(amount.data() + job.alloc_first * num_resources_,
                    job.alloc_count * num_resources_, amount_.data() + end * num_resources_);
        job.alloc_first = end;
        end += job.alloc_count;
    }
    allocated_end_ = num_allocated_ = end;
}

AllocationArrays Cluster::allocation(Row row) const {
    const Job &job = jobs_[row];
    return {node_.data() + job.alloc_first, tasks_.data() + job.alloc_first,
            amount_.data() + job.alloc_first * num_resources_, job.alloc_count};
}

Refusal Cluster::resize(Row row, const AllocationArrays &allocation, Time now) {
    Job &job = jobs_[row];
    const Job before = job;
    const AllocationArrays held = this->allocation(row);
    const std::vector<std::int64_t> node(held.node, held.node + held.count);
    const std::vector<std::int64_t> tasks(held.tasks, held.tasks + held.count);
    const std::vector<Amount> amount(held.amount, held.amount + held.count * num_resources_);
    const std::int64_t speed = parts_per_second(job.held_tasks, job.tasks, job.serial);
    undo_start(row);
    const Refusal refusal = start(row, allocation, now);
    if (refusal.fault != Fault::kNone) {
        start(row, {node.data(), tasks.data(), amount.data(), held.count}, before.since);
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
    const AllocationArrays held = allocation(row);
    for (std::int64_t k = 0; k < held.count; ++k) {
        Amount *left = free_.data() + held.node[k] * num_resources_;
        for (int r = 0; r < num_resources_; ++r)
            left[r] += held.amount[k * num_resources_ + r];
    }
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
        for (int r = 0; r < num_resources_; ++r)
            free_[at(known->first * num_resources_ + r)] += known->second[at(r)];
        known = down_.erase(known);
    }
    hide_down();
}

void Cluster::hide_down() {
    for (auto &[node, hidden] : down_) {
        Amount *left = free_.data() + node * num_resources_;
        for (int r = 0; r < num_resources_; ++r) {
            hidden[at(r)] += left[r];
            left[r] = 0;
        }
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
