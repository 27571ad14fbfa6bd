#include "requests.h"

#include <algorithm>

namespace cpsched::slurm {

void SlurmRequests::look_at(const RequestTable &requests, const std::uint8_t *eligible,
                            std::int64_t num_masks) {
    theirs_ = requests;
    eligible_ = eligible;
    num_masks_ = num_masks;
    masks_changed_ = true;
    num_rows_ = 0;
}

void SlurmRequests::clear() {
    numbers_.clear();
    asked_.clear();
    num_rows_ = 0;
    restricted_.clear();
    masks_changed_ = true;
}

std::int64_t SlurmRequests::number_of(std::int64_t request_id, std::int64_t partition,
                                      std::int64_t reservation) {
    const Asked asked = {request_id, partition, reservation};
    const auto [found, is_new] = numbers_.emplace(asked, static_cast<std::int64_t>(asked_.size()));
    if (is_new) {
        if (partition >= 0 || reservation >= 0) {
            restricted_.push_back(asked_.size());
            masks_changed_ = true;
        }
        asked_.push_back(asked);
    }
    return found->second;
}

/// Copy the masks, with those of restricted classes behind them.
void SlurmRequests::copy_restricted() {
    const auto nodes = static_cast<std::size_t>(num_nodes_);
    masks_.assign(eligible_, eligible_ + num_masks_ * num_nodes_);
    masks_.reserve(masks_.size() + restricted_.size() * nodes);
    for (const std::size_t number : restricted_) {
        const auto [request_id, partition, reservation] = asked_[number];
        const std::int64_t own =
            request_id < theirs_.size() ? theirs_[request_id].eligible_class() : 0;
        rows_[number * width()] = static_cast<std::int64_t>(masks_.size() / nodes);
        for (std::int64_t node = 0; node < num_nodes_; ++node) {
            bool may = eligible_[own * num_nodes_ + node] != 0;
            may = may && (partition < 0 || partitions_.has(partition, node));
            may = may && (reservation < 0 || reservations_.has(reservation, node));
            masks_.push_back(may);
        }
    }
}

bool SlurmRequests::update() {
    rows_.resize(asked_.size() * width());
    for (; num_rows_ < asked_.size(); ++num_rows_) {
        // A class that no job asks for any more may have gone from the job table.
        const std::int64_t request_id = asked_[num_rows_][0];
        if (request_id < theirs_.size())
            std::copy_n(theirs_.row(request_id), width(), rows_.begin() + offset(num_rows_));
    }
    const bool changed = masks_changed_;
    if (changed && !restricted_.empty())
        copy_restricted();
    masks_changed_ = false;
    return changed;
}

} // namespace cpsched::slurm
