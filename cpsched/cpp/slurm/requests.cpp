#include "requests.h"

#include <algorithm>
#include <utility>

namespace cpsched::slurm {

void SlurmRequests::look_at(const RequestTable &requests, const std::uint8_t *eligible,
                            std::int64_t num_masks) {
    theirs_ = requests;
    num_rows_ = 0;
    const std::uint8_t *end = eligible + num_masks * num_nodes_;
    if (num_masks == num_masks_ && std::equal(eligible, end, eligible_.begin()))
        return;
    eligible_.assign(eligible, end);
    num_masks_ = num_masks;
    masks_changed_ = true;
}

void SlurmRequests::take_new(const RequestTable &requests, const std::uint8_t *eligible,
                             std::int64_t num_masks) {
    // Restricted masks are numbered behind those of the job table.
    const std::size_t num_rows = num_masks == num_masks_ ? num_rows_ : 0;
    look_at(requests, eligible, num_masks);
    num_rows_ = num_rows;
    has_new_ = true;
}

void SlurmRequests::clear() {
    numbers_.clear();
    asked_.clear();
    num_rows_ = 0;
    restricted_.clear();
    restricted_at_.clear();
    masks_changed_ = true;
}

std::int64_t SlurmRequests::number_of(std::int64_t request_id, std::int64_t partition,
                                      std::int64_t reservation) {
    const Asked asked = {request_id, partition, reservation};
    const auto [found, is_new] = numbers_.emplace(asked, static_cast<std::int64_t>(asked_.size()));
    if (is_new)
        asked_.push_back(asked);
    return found->second;
}

/// Copy a row from the job table, with a restricted mask where the class has one.
void SlurmRequests::copy_row(std::size_t number) {
    const auto [request_id, partition, reservation] = asked_[number];
    const bool is_known = request_id < theirs_.size();
    // A class that no job asks for any more may have gone from the job table.
    if (!is_known)
        missing_.push_back(number);
    else
        std::copy_n(theirs_.row(request_id), width(), rows_.begin() + offset(number));
    if (partition < 0 && reservation < 0)
        return;
    const std::int64_t mask = is_known ? theirs_[request_id].eligible_class() : 0;
    const auto [place, is_new] =
        restricted_at_.emplace(Restricted{mask, partition, reservation}, restricted_.size());
    if (is_new) {
        restricted_.push_back(place->first);
        masks_changed_ = true;
    }
    rows_[number * width()] = num_masks_ + static_cast<std::int64_t>(place->second);
}

void SlurmRequests::copy_masks() {
    masks_ = eligible_;
    masks_.reserve(static_cast<std::size_t>(num_masks() * num_nodes_));
    for (const auto &[mask, partition, reservation] : restricted_) {
        for (std::int64_t node = 0; node < num_nodes_; ++node) {
            bool may = eligible_[static_cast<std::size_t>(mask * num_nodes_ + node)] != 0;
            may = may && (partition < 0 || partitions_.has(partition, node));
            may = may && (reservation < 0 || reservations_.has(reservation, node));
            masks_.push_back(may);
        }
    }
}

bool SlurmRequests::update() {
    rows_.resize(asked_.size() * width());
    if (num_rows_ == 0) {
        missing_.clear();
    } else if (has_new_) {
        for (const std::size_t number : std::exchange(missing_, {}))
            copy_row(number);
    }
    has_new_ = false;
    for (; num_rows_ < asked_.size(); ++num_rows_)
        copy_row(num_rows_);
    const bool changed = masks_changed_;
    if (changed)
        copy_masks();
    masks_changed_ = false;
    return changed;
}

} // namespace cpsched::slurm
