// The tree of associations and their shares, and the factors that follow from these and from usage.
//
// After Slurm's pages "Fair Tree Fairshare Algorithm" and "Classic Fairshare Algorithm". The root
// is at position 0, and parents come before their children.
//
// Cost: Fair Tree O(A log A) for A associations, everything else O(A).
#pragma once

#include "../types.h"

namespace cpsched::slurm {

class ShareTree {
  public:
    /// Raw shares of an association with Fairshare=parent.
    static constexpr std::int64_t kInherits = -1;

    ShareTree(std::vector<std::int64_t> parent, const std::vector<std::int64_t> &shares,
              const std::vector<bool> &is_user);

    std::size_t size() const { return parent_.size(); }
    std::int64_t parent(std::int64_t at) const { return parent_[static_cast<std::size_t>(at)]; }
    /// Whose child each counts as: the first above that has shares of its own.
    const std::vector<std::int64_t> &share_parent() const { return share_parent_; }
    /// Each one's part of the shares of its siblings and itself: Fair Tree's normalized shares.
    const std::vector<double> &level_share() const { return level_share_; }
    /// The same times that of all accounts above it: the classic normalized shares.
    const std::vector<double> &norm_share() const { return norm_share_; }

    /// Add the amounts of all associations below to each.
    void sum_up(std::vector<double> &amounts) const;

    /// Return the share among siblings over the part of their parent's usage.
    std::vector<double> level_fair_share(const std::vector<double> &usage) const;
    /// Return users' Fair Tree factors, 0 for accounts.
    ///
    /// Users in the order of a walk through the tree that visits siblings by their level fair
    /// share, the highest first and users before accounts, are ranked; their factor is the rank
    /// over the number of users. A user who ties with the sibling before has its rank. So has the
    /// first user of an account that ties with the sibling before: the page says that tied accounts
    /// are merged, Slurm (22.05) visits one after the other.
    std::vector<double> fair_tree(const std::vector<double> &usage) const;

    /// Return effective usage: one's own, and a part of what one's siblings have used; `norm` is
    /// each one's part of all usage.
    std::vector<double> effective_usage(const std::vector<double> &norm) const;
    /// Return 2 ** (-(effective usage / share) / dampening).
    std::vector<double> classic(const std::vector<double> &effective, double dampening) const;

  private:
    void find_shares(const std::vector<std::int64_t> &shares);
    void find_orders();
    double level_factor(const std::vector<double> &usage, std::size_t at) const;
    std::vector<std::size_t> siblings_by(const std::vector<double> &factor) const;

    std::vector<std::int64_t> parent_;
    std::vector<std::int64_t> shares_;
    std::vector<bool> is_user_;
    std::vector<bool> inherits_;
    std::vector<std::int64_t> share_parent_;
    std::vector<double> level_shares_; // of an association's siblings and itself
    std::vector<double> level_share_;
    std::vector<double> norm_share_;
    std::vector<std::size_t> depth_;
    std::vector<std::int64_t> users_under_;  // users at or under each association
    std::vector<std::size_t> deepest_first_; // all but the root
    std::vector<std::size_t> below_top_;     // those below the top level, level by level
    std::int64_t num_users_ = 0;
};

} // namespace cpsched::slurm
