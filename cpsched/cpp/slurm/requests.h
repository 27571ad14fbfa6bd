// The request classes of jobs that may use only a part of their nodes.
//
// Jobs in several partitions use the nodes of one, and jobs in a reservation those of it. So their
// request classes are those of the job table with other masks of eligible nodes. All classes that
// records ask for are numbered anew, in order of appearance.
//
// Cost: a new class a look-up, and one more for each that the job table does not have yet; masks
// are copied when other ones or a new combination of a mask, a partition and a reservation have
// come, O(C N) for C masks of N nodes.
#pragma once

#include "../nodes.h"
#include "node_masks.h"

#include <array>
#include <map>

namespace cpsched::slurm {

class SlurmRequests {
  public:
    /// The nodes of partitions and of reservations, which must outlive this.
    SlurmRequests(const NodeMasks &partitions, const NodeMasks &reservations, int num_resources)
        : partitions_(partitions), reservations_(reservations), num_nodes_(partitions.num_nodes),
          num_resources_(num_resources) {}

    /// Take over the classes of the job table, and masks of shape (C, N), from now on.
    void look_at(const RequestTable &requests, const std::uint8_t *eligible,
                 std::int64_t num_masks);
    /// Do the same where classes, and with them perhaps masks, have come, and none has changed.
    void take_new(const RequestTable &requests, const std::uint8_t *eligible,
                  std::int64_t num_masks);
    /// Forget all classes, as the numbers of the job table mean others.
    void clear();
    /// Return the class of a job that asks for one of the job table in a partition and a
    /// reservation; -1: in any, in none.
    std::int64_t number_of(std::int64_t request_id, std::int64_t partition,
                           std::int64_t reservation);
    /// All classes, and their masks, which `update` brings up to date.
    RequestTable table() const {
        return {rows_.data(), static_cast<std::int64_t>(asked_.size()), num_resources_};
    }
    const std::uint8_t *eligible() const { return masks_.data(); }
    /// Bring them up to date; says whether the masks are others than before.
    bool update();
    /// How many masks there are, those of restricted classes included.
    std::int64_t num_masks() const {
        return num_masks_ + static_cast<std::int64_t>(restricted_.size());
    }

  private:
    /// A class of the job table, a partition and a reservation.
    using Asked = std::array<std::int64_t, 3>;
    std::size_t width() const { return 6 + 3 * static_cast<std::size_t>(num_resources_); }
    std::ptrdiff_t offset(std::size_t number) const {
        return static_cast<std::ptrdiff_t>(number * width());
    }
    /// A mask of the job table, a partition and a reservation.
    using Restricted = std::array<std::int64_t, 3>;
    void copy_row(std::size_t number);
    void copy_masks();

    const NodeMasks &partitions_;
    const NodeMasks &reservations_;
    std::int64_t num_nodes_;
    int num_resources_;
    RequestTable theirs_;
    std::vector<std::uint8_t> eligible_; // their masks
    std::int64_t num_masks_ = 0;
    std::map<Asked, std::int64_t> numbers_;
    std::vector<Asked> asked_;
    std::vector<std::int64_t> rows_; // of the table of request classes
    std::size_t num_rows_ = 0;       // that are up to date
    // Those of them that the job table does not have yet, or not any more.
    std::vector<std::size_t> missing_;
    bool has_new_ = false; // whether classes have come since they were looked up
    std::vector<Restricted> restricted_;
    std::map<Restricted, std::size_t> restricted_at_;
    std::vector<std::uint8_t> masks_; // theirs, and those of `restricted_`
    bool masks_changed_ = true;
};

} // namespace cpsched::slurm
