// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A queue in one piece of memory.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace multitree::nic {

/// First in, first out; grows when it is full, and keeps its memory.
template <typename T>
class Ring {
 public:
  [[nodiscard]] bool empty() const { return first_ == end_; }
  [[nodiscard]] std::size_t size() const { return end_ - first_; }
  /// \pre at < size()
  [[nodiscard]] const T& operator[](std::size_t at) const {
    return items_[(first_ + at) & (items_.size() - 1)];
  }
  /// \pre not empty
  /// \{
  [[nodiscard]] const T& front() const { return (*this)[0]; }
  void pop_front() { ++first_; }
  /// \}
  void push_back(const T& item) {
    if (size() == items_.size()) grow();
    items_[end_++ & (items_.size() - 1)] = item;
  }

 private:
  void grow() {
    std::vector<T> larger(items_.empty() ? 4 : 2 * items_.size());  // a power of two
    const std::size_t count = size();
    for (std::size_t i = 0; i < count; ++i) larger[i] = (*this)[i];
    items_ = std::move(larger);
    first_ = 0;
    end_ = count;
  }

  std::vector<T> items_;
  std::size_t first_ = 0, end_ = 0;  // not yet wrapped
};

}  // namespace multitree::nic
