#include "share_tree.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace cpsched::slurm {

namespace {

/// The level factor of an account with Fairshare=parent: its children are its parent's.
constexpr double kNoLevel = 4294967294.0;
constexpr double kInfinite = std::numeric_limits<double>::infinity();

std::size_t index(std::int64_t at) {
    return static_cast<std::size_t>(at);
}

} // namespace

ShareTree::ShareTree(std::vector<std::int64_t> parent, const std::vector<std::int64_t> &shares,
                     const std::vector<bool> &is_user)
    : parent_(std::move(parent)), shares_(shares), is_user_(is_user), inherits_(parent_.size()),
      share_parent_(parent_), level_shares_(parent_.size(), 0.0), level_share_(parent_.size(), 0.0),
      norm_share_(parent_.size(), 1.0), depth_(parent_.size(), 0), users_under_(parent_.size(), 0) {
    for (std::size_t at = 0; at < size(); ++at)
        inherits_[at] = shares[at] == kInherits;
    find_shares(shares);
    find_orders();
}

void ShareTree::find_shares(const std::vector<std::int64_t> &shares) {
    std::vector<double> sums(size(), 0.0);
    for (std::size_t at = 1; at < size(); ++at) {
        const std::size_t above = index(parent_[at]);
        depth_[at] = depth_[above] + 1;
        if (inherits_[above] && above != 0)
            share_parent_[at] = share_parent_[above];
        sums[index(share_parent_[at])] += inherits_[at] ? 0.0 : static_cast<double>(shares[at]);
    }
    for (std::size_t at = 1; at < size(); ++at) {
        level_shares_[at] = sums[index(share_parent_[at])];
        const double own = inherits_[at] ? 0.0 : static_cast<double>(shares[at]);
        if (level_shares_[at] > 0)
            level_share_[at] = own / level_shares_[at];
        const bool keeps = inherits_[at] || level_shares_[at] == 0;
        norm_share_[at] = (keeps ? 1.0 : level_share_[at]) * norm_share_[index(parent_[at])];
    }
}

void ShareTree::find_orders() {
    std::vector<std::size_t> level(size(), 0);
    for (std::size_t at = 1; at < size(); ++at) {
        level[at] = level[index(share_parent_[at])] + 1;
        deepest_first_.push_back(at);
        if (level[at] > 1)
            below_top_.push_back(at);
    }
    std::stable_sort(
        deepest_first_.begin(), deepest_first_.end(),
        [this](std::size_t one, std::size_t other) { return depth_[one] > depth_[other]; });
    std::stable_sort(
        below_top_.begin(), below_top_.end(),
        [&level](std::size_t one, std::size_t other) { return level[one] < level[other]; });
    for (std::size_t at = size(); at-- > 0;) {
        users_under_[at] += is_user_[at];
        num_users_ += is_user_[at];
        if (at > 0)
            users_under_[index(share_parent_[at])] += users_under_[at];
    }
}

void ShareTree::sum_up(std::vector<double> &amounts) const {
    // Children of one depth are added up before their sum is added: sums then depend on no order of
    // accounts of other depths.
    std::vector<double> added(size(), 0.0);
    for (std::size_t begin = 0; begin < deepest_first_.size();) {
        std::size_t end = begin;
        for (; end < deepest_first_.size() &&
               depth_[deepest_first_[end]] == depth_[deepest_first_[begin]];
             ++end)
            added[index(parent_[deepest_first_[end]])] += amounts[deepest_first_[end]];
        for (std::size_t i = begin; i < end; ++i) {
            const std::size_t above = index(parent_[deepest_first_[i]]);
            amounts[above] += added[above];
            added[above] = 0.0;
        }
        begin = end;
    }
}

double ShareTree::level_factor(const std::vector<double> &usage, std::size_t at) const {
    if (at == 0)
        return kNoLevel;
    if (inherits_[at])
        return is_user_[at] ? kInfinite : kNoLevel;
    if (level_share_[at] <= 0)
        return 0.0;
    const double above = usage[index(share_parent_[at])];
    const double part = above > 0 ? usage[at] / above : 0.0;
    return part > 0 ? level_share_[at] / part : kInfinite;
}

std::vector<double> ShareTree::level_fair_share(const std::vector<double> &usage) const {
    std::vector<double> factors(size());
    for (std::size_t at = 0; at < size(); ++at)
        factors[at] = level_factor(usage, at);
    return factors;
}

/// Return all but the root, siblings next to each other in the order of the walk.
std::vector<std::size_t> ShareTree::siblings_by(const std::vector<double> &factor) const {
    std::vector<std::size_t> order(size() - 1);
    std::iota(order.begin(), order.end(), std::size_t{1});
    std::sort(order.begin(), order.end(), [&](std::size_t one, std::size_t other) {
        if (share_parent_[one] != share_parent_[other])
            return share_parent_[one] < share_parent_[other];
        if (factor[one] != factor[other])
            return factor[one] > factor[other];
        return is_user_[one] != is_user_[other] ? is_user_[one] : one < other;
    });
    return order;
}

std::vector<double> ShareTree::fair_tree(const std::vector<double> &usage) const {
    const std::vector<double> factor = level_fair_share(usage);
    const std::vector<std::size_t> order = siblings_by(factor);
    // The place of a user in the walk is how many users come before: of the same parent, and before
    // that parent.
    std::vector<std::int64_t> place(size(), 0);
    std::vector<bool> is_tied(size(), false), leads(size(), false);
    std::int64_t before = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
        const std::size_t at = order[i];
        leads[at] = i == 0 || share_parent_[at] != share_parent_[order[i - 1]];
        before = leads[at] ? 0 : before;
        place[at] = before;
        is_tied[at] = !leads[at] && factor[at] == factor[order[i - 1]];
        before += users_under_[at];
    }
    for (const std::size_t at : below_top_) {
        const std::size_t above = index(share_parent_[at]);
        place[at] += place[above];
        is_tied[at] = is_tied[at] || (leads[at] && is_tied[above]);
    }
    std::vector<std::size_t> walk(index(num_users_));
    for (std::size_t at = 0; at < size(); ++at)
        if (is_user_[at])
            walk[index(place[at])] = at;
    std::vector<double> factors(size(), 0.0);
    std::int64_t leader = 0;
    for (std::int64_t i = 0; i < num_users_; ++i) {
        const std::size_t at = walk[index(i)];
        leader = is_tied[at] ? leader : i;
        factors[at] = static_cast<double>(num_users_ - leader) / static_cast<double>(num_users_);
    }
    return factors;
}

std::vector<double> ShareTree::effective_usage(const std::vector<double> &norm) const {
    std::vector<double> effective = norm;
    effective[0] = 1.0;
    for (const std::size_t at : below_top_) {
        const double above = effective[index(share_parent_[at])];
        // Raw shares of "parent" are a number too, and its users are judged by the parent.
        const double part = static_cast<double>(shares_[at]) / level_shares_[at];
        effective[at] = level_shares_[at] > 0 ? norm[at] + (above - norm[at]) * part : above;
    }
    return effective;
}

std::vector<double> ShareTree::classic(const std::vector<double> &effective,
                                       double dampening) const {
    std::vector<double> factors(size(), 0.0);
    for (std::size_t at = 0; at < size(); ++at) {
        const std::size_t judged = inherits_[at] ? index(share_parent_[at]) : at;
        if (norm_share_[judged] > 0) {
            const double over = effective[judged] / norm_share_[judged];
            factors[at] = std::pow(2.0, -over / dampening);
        }
    }
    return factors;
}

} // namespace cpsched::slurm
