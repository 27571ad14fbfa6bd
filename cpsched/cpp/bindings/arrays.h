// NumPy arrays as arguments and results.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "../types.h"

#include <cstring>
#include <utility>

namespace cpsched {

namespace nb = nanobind;

using Ints = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<const std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Masks = nb::ndarray<const bool, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using WritableInts = nb::ndarray<std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using WritableFlags = nb::ndarray<bool, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using WritableMatrix = nb::ndarray<std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

/// Return a NumPy array that owns what was in a vector.
template <class T, class... Sizes>
auto moved(std::vector<T> &&values, Sizes... sizes) {
    constexpr std::size_t kDimensions = sizeof...(Sizes) == 0 ? 1 : sizeof...(Sizes);
    auto *owned = new std::vector<T>(std::move(values));
    const nb::capsule owner(
        owned, [](void *pointer) noexcept { delete static_cast<std::vector<T> *>(pointer); });
    std::size_t shape[kDimensions] = {static_cast<std::size_t>(sizes)...};
    if constexpr (sizeof...(Sizes) == 0)
        shape[0] = owned->size();
    return nb::ndarray<nb::numpy, T>(owned->data(), kDimensions, shape, owner);
}

inline Span<const std::int64_t> span(const Ints &array) {
    return {array.data(), array.shape(0)};
}

} // namespace cpsched
