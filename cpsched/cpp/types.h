// Numbers, and arrays that others own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cpsched {

/// A second since the epoch of the workload, or a number of seconds.
using Time = std::int64_t;
/// An amount of a resource, in the unit of the system file.
using Amount = std::int64_t;
/// The row of a job in the job table.
using Row = std::int64_t;

/// Later than any second, more than any amount.
inline constexpr std::int64_t kFar = std::int64_t{1} << 62;

/// A view of an array that somebody else owns; the array must outlive it.
template <class T>
class Span {
  public:
    Span() = default;
    Span(T *data, std::size_t size) : data_(data), size_(size) {}

    T &operator[](std::size_t at) const { return data_[at]; }
    T *data() const { return data_; }
    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    T *begin() const { return data_; }
    T *end() const { return data_ + size_; }
    T &back() const { return data_[size_ - 1]; }
    /// The entries [first, end).
    Span part(std::size_t first, std::size_t end) const { return {data_ + first, end - first}; }

  private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};

template <class T>
Span<const T> span_of(const std::vector<T> &values) {
    return {values.data(), values.size()};
}

/// Return a copy of the entries.
template <class T>
std::vector<T> values_of(Span<const T> values) {
    return {values.begin(), values.end()};
}

/// Copy amounts of resources; most often there are few.
inline void copy_amounts(const Amount *from, std::int64_t count, Amount *to) {
    if (count == 1)
        *to = *from;
    else
        std::copy_n(from, count, to);
}

/// Say whether amounts of resources are equal; there are too few for a call of memcmp.
inline bool are_equal(const Amount *a, const Amount *b, std::int64_t count) {
    for (std::int64_t r = 0; r < count; ++r)
        if (a[r] != b[r])
            return false;
    return true;
}

/// Return the quotient rounded up; both are positive.
inline std::int64_t divided_up(std::int64_t value, std::int64_t by) {
    return (value + by - 1) / by;
}

} // namespace cpsched
