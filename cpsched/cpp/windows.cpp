#include "windows.h"

#include "filling.h"

#include <algorithm>

namespace cpsched {

std::optional<std::size_t> WindowSearch::find(const Request &request, std::size_t begin,
                                              std::size_t end, MostFitting &most, Pieces &pieces) {
    fitting_.resize(profile_.ranges().count());
    pieces.clear();
    Search search{request, most, begin, end, begin, begin};
    // An even split, or nodes that must go together, ask for more than capacity.
    for (; next_window(search); ++search.begin)
        if (place(request, pieces))
            return search.begin;
    return std::nullopt;
}

std::optional<std::size_t> WindowSearch::find_segment(const Request &request, std::size_t begin,
                                                      std::size_t end, MostFitting &most) {
    if (!needs_capacity_alone(request.what))
        return find(request, begin, end, most, unused_);
    fitting_.resize(profile_.ranges().count());
    Search search{request, most, begin, end, begin, begin};
    if (next_window(search))
        return search.begin;
    return std::nullopt;
}

bool WindowSearch::next_window(Search &search) {
    search.is_enough = false;
    while (search.begin < search.end) {
        if (!enough_in_all(search)) {
            search.begin = search.known + 1;
            search.is_enough = false;
            continue;
        }
        const bool is_certain = search.certain > search.begin;
        // Often the first segment is what is too little.
        if (!is_certain && !search.is_enough && !is_enough(search, search.begin)) {
            next_enough(search);
            continue;
        }
        const bool may_be_less = profile_.least_in(search.begin, search.known, least_);
        if (!may_be_less && !is_certain)
            return true;
        if (shortage_in(search.request, least_.data()) == kFits)
            return true;
        if (search.begin + 1 == search.end)
            return false;
        search.certain = search.known;
        search.is_enough = false;
        search.begin = behind_too_little(search);
    }
    return false;
}

bool WindowSearch::enough_in_all(Search &search) const {
    const Time end = profile_.time(search.begin) + search.request.duration;
    search.known = std::max(search.known, search.begin);
    while (search.known < profile_.num_segments() && profile_.time(search.known) < end) {
        const std::size_t row = profile_.row(search.known);
        // Elsewhere there is no less than before.
        const bool may_be_less = search.known == search.begin || profile_.falls(row);
        if (may_be_less && !enough_in_all(search, row))
            return false;
        ++search.known;
    }
    return true;
}

bool WindowSearch::enough_in_all(const Search &search, std::size_t row) const {
    const Request &request = search.request;
    if (search.most[row] < request.tasks)
        return false;
    const Span<const Amount> total = profile_.total(row);
    for (int r = 0; r < nodes_.num_resources; ++r)
        if (total[r] < request.tasks * request.what.task(r))
            return false;
    return true;
}

bool WindowSearch::is_enough(const Search &search, std::size_t segment) {
    const std::size_t row = profile_.row(segment);
    const std::int64_t fitting = shortage_in(search.request, profile_.level(row));
    if (fitting == kFits)
        return true;
    search.most[row] = std::min(search.most[row], fitting);
    return false;
}

void WindowSearch::next_enough(Search &search) {
    const auto may_be_enough = [&](std::size_t segment) {
        return search.most[profile_.row(segment)] >= search.request.tasks &&
               is_enough(search, segment);
    };
    const auto falls = [&](std::size_t segment) { return profile_.falls(profile_.row(segment)); };
    // Up to where a planned job begins there is only ever more.
    std::size_t low = search.begin;
    std::size_t high = low + 1;
    search.is_enough = false;
    for (std::size_t step = 1; high < search.end && !falls(high); step *= 2) {
        if (may_be_enough(high)) {
            search.is_enough = true;
            break;
        }
        low = high;
        do
            ++high;
        while (high < low + step && high < search.end && !falls(high));
    }
    while (high - low > 1) {
        const std::size_t middle = (low + high) / 2;
        if (may_be_enough(middle)) {
            high = middle;
            search.is_enough = true;
        } else {
            low = middle;
        }
    }
    search.begin = high;
}

std::size_t WindowSearch::behind_too_little(const Search &search) {
    const Request &request = search.request;
    const bool is_bounded = request.nodes_min > 1 || request.nodes_max < request.tasks;
    std::size_t segment = search.known - 1;
    std::int64_t total = count_fitting(request, profile_.row(segment));
    if (total < request.tasks) {
        std::int64_t &most = search.most[profile_.row(segment)];
        most = std::min(most, total);
    }
    while (total >= request.tasks) {
        if (is_bounded && !within_bounds(profile_.ranges(), fitting_, request))
            break;
        --segment;
        total -= lower_to(request, profile_.row(segment));
    }
    return segment + 1;
}

std::int64_t WindowSearch::count_fitting(const Request &request, std::size_t row) {
    const Ranges &ranges = profile_.ranges();
    const std::size_t num_resources = nodes_.num_resources;
    const Amount *level = profile_.level(row);
    least_.assign(level, level + ranges.count() * num_resources);
    std::int64_t total = 0;
    for (std::size_t g = 0; g < ranges.count(); ++g) {
        const Amount *free = level + g * num_resources;
        fitting_[g] = 0;
        if (free[0] >= request.what.task(0))
            fitting_[g] =
                num_fitting_tasks(nodes_, free, ranges.first[g], request.what, request.tasks);
        total += fitting_[g] * ranges.size[g];
    }
    return total;
}

std::int64_t WindowSearch::lower_to(const Request &request, std::size_t row) {
    const Ranges &ranges = profile_.ranges();
    const std::size_t num_resources = nodes_.num_resources;
    const Amount *level = profile_.level(row);
    std::int64_t fewer = 0;
    for (std::size_t g = 0; g < ranges.count(); ++g) {
        if (fitting_[g] == 0)
            continue;
        Amount *least = least_.data() + g * num_resources;
        bool is_lower = false;
        for (std::size_t r = 0; r < num_resources; ++r) {
            is_lower = is_lower || level[g * num_resources + r] < least[r];
            least[r] = std::min(least[r], level[g * num_resources + r]);
        }
        if (is_lower) {
            const std::int64_t fitting =
                num_fitting_tasks(nodes_, least, ranges.first[g], request.what, fitting_[g]);
            fewer += (fitting_[g] - fitting) * ranges.size[g];
            fitting_[g] = fitting;
        }
    }
    return fewer;
}

bool WindowSearch::place(const Request &request, Pieces &pieces) {
    const Ranges &ranges = profile_.ranges();
    const bool is_bounded = request.nodes_max < request.tasks;
    if (placer_.allocator() != Allocator::kFirstFit || is_bounded ||
        !needs_capacity_alone(request.what))
        return placer_.place(least_.data(), ranges, request, pieces);
    // What the first nodes hold is counted no further than they are enough.
    std::fill(fitting_.begin(), fitting_.end(), 0);
    shortage_in(request, least_.data());
    order_.clear();
    for (const std::int64_t range : ranges.in_order)
        if (fitting_[range] > 0)
            order_.push_back(range);
    return fill_greedily(ranges.size, request, fitting_, order_, pieces);
}

} // namespace cpsched
