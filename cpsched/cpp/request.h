// What jobs ask for.
//
// Jobs that ask for the same, whatever their number of tasks, are of one request class. The table
// of request classes is a matrix of one row a class: six numbers, then R amounts that one task
// needs, R that are needed on every node in addition, and R that can be used on a node at most.
#pragma once

#include "job.h"
#include "types.h"

#include <algorithm>

namespace cpsched {

/// One row of the table of request classes.
class RequestClass {
  public:
    RequestClass(const std::int64_t *row, int num_resources)
        : row_(row), num_resources_(num_resources) {}

    /// The row of the masks of eligible nodes.
    std::int64_t eligible_class() const { return row_[0]; }
    /// Whether every node gets the same number of tasks.
    bool is_even() const { return row_[1] != 0; }
    /// Whether the nodes follow each other.
    bool is_contiguous() const { return row_[2] != 0; }
    /// Whether the job shares no node.
    bool is_exclusive() const { return row_[3] != 0; }
    /// Nodes in each segment; 0: the job has no segments.
    std::int64_t segment() const { return row_[4]; }
    /// The most groups of the lowest level of the topology; 0: any number.
    std::int64_t max_switches() const { return row_[5]; }
    /// Whether segments or a limit of switches say which nodes go together.
    bool is_confined() const { return segment() > 0 || max_switches() > 0; }

    Amount task(int resource) const { return row_[kFirst + resource]; }
    Amount per_node(int resource) const { return row_[kFirst + num_resources_ + resource]; }
    Amount per_node_max(int resource) const { return row_[kFirst + 2 * num_resources_ + resource]; }

    /// What a job with `tasks` on a node takes of a resource; `capacity` is the node's.
    Amount amount_on(Amount capacity, std::int64_t tasks, int resource) const {
        return is_exclusive() ? capacity : tasks * task(resource) + per_node(resource);
    }

  private:
    static constexpr int kFirst = 6;
    const std::int64_t *row_;
    int num_resources_;
};

/// The table of request classes; a view of an array of shape (S, 6 + 3 R).
class RequestTable {
  public:
    RequestTable() = default;
    RequestTable(const std::int64_t *rows, std::int64_t count, int num_resources)
        : rows_(rows), count_(count), num_resources_(num_resources) {}

    RequestClass operator[](std::int64_t request_id) const {
        return {row(request_id), num_resources_};
    }
    const std::int64_t *row(std::int64_t request_id) const {
        return rows_ + request_id * (6 + 3 * num_resources_);
    }
    std::int64_t size() const { return count_; }
    int num_resources() const { return num_resources_; }
    /// The class that asks for the same as another but has no limit of switches; the class itself
    /// where the table has none.
    std::int64_t without_switches(std::int64_t request_id) const;

  private:
    const std::int64_t *rows_ = nullptr;
    std::int64_t count_ = 0;
    int num_resources_ = 0;
};

inline std::int64_t RequestTable::without_switches(std::int64_t request_id) const {
    constexpr int kSwitches = 5;
    const int width = 6 + 3 * num_resources_;
    const std::int64_t *asked = rows_ + request_id * width;
    for (std::int64_t other = 0; other < count_; ++other) {
        const std::int64_t *row = rows_ + other * width;
        if (row[kSwitches] == 0 && std::equal(row, row + kSwitches, asked) &&
            std::equal(row + kSwitches + 1, row + width, asked + kSwitches + 1))
            return other;
    }
    return request_id;
}

/// What one job asks for.
struct Request {
    RequestClass what;
    std::int64_t request_id;
    std::int64_t tasks;
    /// Predicted runtime, one second or more.
    Time duration;
    std::int64_t nodes_min;
    std::int64_t nodes_max;
};

inline Request request_of(const Job &job, const RequestTable &requests) {
    return {requests[job.request_id],
            job.request_id,
            job.tasks,
            std::max<Time>(job.runtime_estimate, 1),
            job.nodes_min,
            job.nodes_max};
}

} // namespace cpsched
