#include "availability.h"

#include <algorithm>
#include <cassert>

namespace cpsched {

namespace {

/// Space for more ranges than there are at first.
constexpr std::size_t kSpareRanges = 64;

/// Let ranges begin at both ends of nodes [first, end).
void mark_ends(RangeStarts &begins, std::int64_t first, std::int64_t end) {
    begins.begin_at(first);
    if (end < begins.num_nodes())
        begins.begin_at(end);
}

} // namespace

void mark_allocations(RangeStarts &begins, const Snapshot &now, std::size_t num_running) {
    for (const Row row : now.running.part(0, num_running)) {
        const Job &job = now.jobs[row];
        for (std::int64_t k = job.alloc_first; k < job.alloc_first + job.alloc_count; ++k)
            mark_ends(begins, now.allocated_first[k],
                      now.allocated_first[k] + now.allocated_nodes[k]);
    }
}

void Availability::begin(const FreeNodes &free, const Snapshot &now, std::size_t num_running,
                         const Starts &starts) {
    begins_ = free.range_starts();
    mark_allocations(begins_, now, num_running);
    for (const NodeSpan &span : starts.spans)
        mark_ends(begins_, span.first, span.first + span.count);
    const RangeStarts &ranges = free.range_starts();
    std::int64_t range = 0;
    begin_with(now.now, begins_, [&](std::int64_t node) {
        if (ranges.begins_at(node))
            range = node;
        return free.of_range(range);
    });
}

void Availability::begin_on_ranges(Time now, const Amount *free, const RangeStarts &begins) {
    begin_with(now, begins, [&](std::int64_t node) { return free + node * nodes_.num_resources; });
}

template <class Free>
void Availability::begin_with(Time now, const RangeStarts &begins, const Free &free_of) {
    clear(begins.count() + kSpareRanges);
    const int num_resources = nodes_.num_resources;
    range_at_.resize(nodes_.num_nodes);
    times_.push_back(now);
    rows_.push_back(add_row());
    Amount *level = levels_.data();
    Amount *total = totals_.data();
    std::int64_t node = 0;
    while (node < nodes_.num_nodes) {
        const std::int64_t size = begins.end_of(node) - node;
        const auto range = static_cast<std::int64_t>(ranges_.count());
        range_at_[node] = range;
        ranges_.first.push_back(node);
        ranges_.size.push_back(size);
        ranges_.in_order.push_back(range);
        const Amount *free = free_of(node);
        for (int r = 0; r < num_resources; ++r) {
            const Amount left = free[r];
            *level = left;
            ++level;
            total[r] += size * left;
        }
        node += size;
    }
}

void Availability::begin_on_nodes(Span<const Time> times, const Amount *levels) {
    clear(nodes_.num_nodes);
    ranges_ = single_nodes(nodes_.num_nodes);
    range_at_ = ranges_.first;
    for (const Time time : times) {
        times_.push_back(time);
        const std::size_t row = add_row();
        rows_.push_back(row);
        std::copy(levels, levels + stride_, level(row));
        for (std::size_t at = 0; at < stride_; ++at)
            totals_[row * width_of_rows() + at % width_of_rows()] += levels[at];
        levels += stride_;
    }
}

void Availability::clear(std::size_t max_ranges) {
    ranges_.clear();
    times_.clear();
    rows_.clear();
    sources_.clear();
    set_max_ranges(max_ranges);
}

void Availability::set_max_ranges(std::size_t max_ranges) {
    max_ranges_ = std::min<std::size_t>(max_ranges, nodes_.num_nodes);
    stride_ = max_ranges_ * width_of_rows();
    num_words_ = (max_ranges_ + 63) / 64;
}

std::size_t Availability::add_row() {
    const std::size_t row = sources_.size();
    sources_.push_back(row);
    if (levels_.size() < (row + 1) * stride_)
        levels_.resize((row + 1) * stride_);
    totals_.resize(row * width_of_rows());
    totals_.resize((row + 1) * width_of_rows(), 0);
    falls_.resize(row);
    falls_.push_back(0);
    fallen_.resize(row * num_words_);
    fallen_.resize((row + 1) * num_words_, 0);
    return row;
}

std::size_t Availability::copy_row(std::size_t source) {
    const std::size_t row = add_row();
    sources_[row] = source;
    for (std::size_t r = 0; r < width_of_rows(); ++r)
        totals_[row * width_of_rows() + r] = totals_[source * width_of_rows() + r];
    const Amount *level = levels_.data() + source * stride_;
    std::copy(level, level + ranges_.count() * width_of_rows(), levels_.data() + row * stride_);
    return row;
}

void Availability::widen(std::size_t max_ranges) {
    const std::size_t stride = stride_;
    const std::size_t num_words = num_words_;
    const std::size_t used = ranges_.count() * width_of_rows();
    set_max_ranges(max_ranges);
    std::vector<Amount> levels(sources_.size() * stride_);
    std::vector<std::uint64_t> fallen(sources_.size() * num_words_);
    for (std::size_t row = 0; row < sources_.size(); ++row) {
        const Amount *level = levels_.data() + row * stride;
        std::copy(level, level + used, levels.data() + row * stride_);
        const std::uint64_t *words = fallen_.data() + row * num_words;
        std::copy(words, words + num_words, fallen.data() + row * num_words_);
    }
    levels_ = std::move(levels);
    fallen_ = std::move(fallen);
}

std::size_t Availability::append(Time time) {
    const std::size_t row = copy_row(rows_.back());
    times_.push_back(time);
    rows_.push_back(row);
    return row;
}

void Availability::give_back(std::size_t row, const Job &job, const Snapshot &now) {
    for (std::int64_t k = job.alloc_first; k < job.alloc_first + job.alloc_count; ++k) {
        const Amount *amount = now.allocated_amount + k * nodes_.num_resources;
        for_ranges_of(now.allocated_first[k], now.allocated_nodes[k], [&](std::int64_t range) {
            for (int r = 0; r < nodes_.num_resources; ++r)
                add(row, range, r, amount[r]);
        });
    }
}

void Availability::give_back(std::size_t row, const RequestClass &what,
                             Span<const NodeSpan> spans) {
    for (const NodeSpan &span : spans) {
        for_ranges_of(span.first, span.count, [&](std::int64_t range) {
            const Amount *capacity = nodes_.capacity_of(ranges_.first[range]);
            for (int r = 0; r < nodes_.num_resources; ++r)
                add(row, range, r, what.amount_on(capacity[r], span.tasks, r));
        });
    }
}

void Availability::split(Pieces &pieces) {
    std::int64_t before = -1;
    std::int64_t rest = -1;
    for (Piece &piece : pieces) {
        const bool continues = piece.range == before;
        before = piece.range;
        if (continues)
            piece.range = rest;
        const std::int64_t size = ranges_.size[piece.range];
        rest = piece.nodes < size ? split_range(piece.range, piece.nodes) : -1;
    }
}

std::int64_t Availability::split_range(std::int64_t range, std::int64_t nodes) {
    if (ranges_.count() == max_ranges_)
        widen(2 * max_ranges_ + kSpareRanges);
    const auto added = static_cast<std::int64_t>(ranges_.count());
    const std::int64_t first = ranges_.first[range] + nodes;
    range_at_[first] = added;
    ranges_.first.push_back(first);
    ranges_.size.push_back(ranges_.size[range] - nodes);
    ranges_.size[range] = nodes;
    const auto place = std::find(ranges_.in_order.begin(), ranges_.in_order.end(), range);
    ranges_.in_order.insert(place + 1, added);
    const int num_resources = nodes_.num_resources;
    for (std::size_t row = 0; row < sources_.size(); ++row) {
        const Amount *free = level(row) + range * num_resources;
        std::copy(free, free + num_resources, level(row) + added * num_resources);
        if (falls_on(row, range))
            note_fall(row, added);
    }
    return added;
}

void Availability::take_off(std::size_t row, const RequestClass &what, const Pieces &pieces) {
    const int num_resources = nodes_.num_resources;
    for (const Piece &piece : pieces) {
        if (piece.tasks == 0)
            continue;
        const std::int64_t node = ranges_.first[piece.range];
        const Amount *capacity = nodes_.capacity_of(node);
        for (int r = 0; r < num_resources; ++r) {
            const Amount amount = what.amount_on(capacity[r], piece.tasks, r);
            level(row)[piece.range * num_resources + r] -= amount;
            totals_[row * width_of_rows() + r] -= amount * piece.nodes;
        }
    }
}

Availability::Cut Availability::cut_at(std::size_t segment, Time time) {
    const auto begin = times_.begin() + static_cast<std::ptrdiff_t>(segment);
    const auto place = std::lower_bound(begin, times_.end(), time);
    const std::size_t at = place - times_.begin();
    if (place != times_.end() && *place == time)
        return {at, -1};
    const std::size_t source = rows_[at - 1];
    times_.insert(place, time);
    rows_.insert(rows_.begin() + static_cast<std::ptrdiff_t>(at), copy_row(source));
    return {at, static_cast<std::int64_t>(source)};
}

std::int64_t Availability::occupy(std::size_t segment, Time end, const RequestClass &what,
                                  const Pieces &pieces) {
    const Cut cut = cut_at(segment, end);
    for (std::size_t at = segment; at < cut.segment; ++at)
        take_off(rows_[at], what, pieces);
    falls_[rows_[segment]] = 1;
    for (const Piece &piece : pieces)
        if (piece.tasks > 0)
            note_fall(rows_[segment], piece.range);
    return cut.source;
}

std::size_t Availability::segment_at(Time time) {
    return time <= times_[0] ? 0 : cut_at(0, time).segment;
}

void Availability::block(std::size_t first, std::size_t end, const Pieces &pieces) {
    falls_[rows_[first]] = 1;
    for (const Piece &piece : pieces) {
        if (piece.tasks == 0)
            continue;
        note_fall(rows_[first], piece.range);
        for (std::size_t at = first; at < end; ++at)
            block(rows_[at], piece.range);
    }
}

void Availability::block(std::size_t row, std::int64_t range) {
    const std::int64_t size = ranges_.size[static_cast<std::size_t>(range)];
    for (int r = 0; r < nodes_.num_resources; ++r) {
        Amount &left = level(row)[range * nodes_.num_resources + r];
        totals_[row * width_of_rows() + static_cast<std::size_t>(r)] -=
            std::max<Amount>(left, 0) * size;
        left = -1;
    }
}

void Availability::note_fall(std::size_t row, std::int64_t range) {
    fallen_word(row, range) |= std::uint64_t{1} << (range & 63);
}

bool Availability::falls_on(std::size_t row, std::int64_t range) const {
    const std::size_t word = row * num_words_ + (range >> 6);
    return (fallen_[word] >> (range & 63)) & 1;
}

bool Availability::least_in(std::size_t first, std::size_t end, std::vector<Amount> &least) const {
    const std::size_t num_resources = width_of_rows();
    const Amount *level_of_first = level(rows_[first]);
    least.assign(level_of_first, level_of_first + ranges_.count() * num_resources);
    bool falls_once = false;
    for (std::size_t segment = first + 1; segment < end; ++segment) {
        const std::size_t row = rows_[segment];
        if (!falls(row))
            continue;
        falls_once = true;
        for (std::size_t word = 0; word < num_words_; ++word) {
            // Bit by bit, lowest first.
            for (std::uint64_t rest = fallen_[row * num_words_ + word]; rest != 0;
                 rest &= rest - 1) {
                const std::size_t range = 64 * word + __builtin_ctzll(rest);
                for (std::size_t at = range * num_resources; at < (range + 1) * num_resources; ++at)
                    least[at] = std::min(least[at], level(row)[at]);
            }
        }
    }
    return falls_once;
}

} // namespace cpsched
