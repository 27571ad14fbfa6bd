#include "columns.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

namespace cpsched {

std::vector<std::int64_t> num_up_to(Span<const std::int64_t> values,
                                    Span<const std::int64_t> limits) {
    std::vector<std::int64_t> counts(limits.size());
    if (limits.empty())
        return counts;
    const std::int64_t *value = std::upper_bound(values.begin(), values.end(), limits[0]);
    for (std::size_t at = 0; at < limits.size(); ++at) {
        while (value != values.end() && *value <= limits[at])
            ++value;
        counts[at] = value - values.begin();
    }
    return counts;
}

NumberedSequences numbered_sequences(const std::int64_t *rows, std::size_t width,
                                     Span<const std::int64_t> begin) {
    NumberedSequences sequences;
    std::unordered_map<std::string_view, std::int64_t> numbers;
    const auto *const bytes = reinterpret_cast<const char *>(rows);
    const std::size_t row_size = width * sizeof(std::int64_t);
    for (std::size_t at = 0; at + 1 < begin.size(); ++at) {
        const std::size_t first = row_size * static_cast<std::size_t>(begin[at]);
        const std::size_t end = row_size * static_cast<std::size_t>(begin[at + 1]);
        const auto next = static_cast<std::int64_t>(sequences.first.size());
        const auto [known, is_new] = numbers.try_emplace({bytes + first, end - first}, next);
        if (is_new)
            sequences.first.push_back(static_cast<std::int64_t>(at));
        sequences.number.push_back(known->second);
    }
    return sequences;
}

} // namespace cpsched
