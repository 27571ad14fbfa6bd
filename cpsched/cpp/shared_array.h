// An array that grows, and that views may outlive.
//
// Growing moves to new memory; who still looks at the old memory keeps it alive.
#pragma once

#include "types.h"

#include <algorithm>
#include <memory>

namespace cpsched {

template <class T>
class SharedArray {
  public:
    explicit SharedArray(std::size_t size = 0) : values_(std::make_shared<std::vector<T>>(size)) {}

    T *data() const { return values_->data(); }
    std::size_t size() const { return values_->size(); }
    T &operator[](std::size_t at) const { return (*values_)[at]; }
    const std::shared_ptr<std::vector<T>> &shared() const { return values_; }

    /// Hold `size` entries or more; the first `used` keep their values.
    void reserve(std::size_t size, std::size_t used) {
        if (size <= values_->size())
            return;
        auto grown = std::make_shared<std::vector<T>>(std::max(size, 2 * values_->size()));
        std::copy(data(), data() + used, grown->data());
        values_ = std::move(grown);
    }

  private:
    std::shared_ptr<std::vector<T>> values_;
};

} // namespace cpsched
