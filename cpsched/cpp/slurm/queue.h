// The queue as Slurm sorts it: records by standing and priority, then in the order of arrival.
//
// Cost: O(Q) moves of 16 bytes to insert or remove one of Q records, O(Q log Q) to sort.
#pragma once

#include "record.h"

namespace cpsched::slurm {

class Queue {
  public:
    /// A record by its key.
    struct Place {
        std::int64_t key;
        std::size_t record;
        bool operator<(const Place &other) const {
            return key != other.key ? key < other.key : record < other.record;
        }
    };

    std::size_t size() const { return places_.size(); }
    bool empty() const { return places_.empty(); }
    std::size_t operator[](std::size_t place) const { return places_[place].record; }
    const std::vector<Place> &places() const { return places_; }

    void insert(std::size_t record, std::int64_t key);
    /// Take a record out, if it is in the queue.
    void remove(std::size_t record, std::int64_t key);
    void clear() { places_.clear(); }
    /// Sort by new keys; says whether the order has changed.
    bool sort_by(const std::vector<Record> &records);

  private:
    std::vector<Place> places_;
};

} // namespace cpsched::slurm
