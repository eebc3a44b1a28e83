// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Bytes of a stream in blocks.
#include "runtime/messages/tcp/replay_internal.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace multitree::runtime::tcp {

void Replay::keep(std::span<const iovec> pieces, std::size_t bytes) {
  for (const iovec& piece : pieces) {
    const auto* from = static_cast<const std::byte*>(piece.iov_base);
    std::size_t left = std::min(piece.iov_len, bytes);
    bytes -= left;
    while (left != 0) {
      if (end_ / kBlock - first_ == blocks_.size()) {
        auto fresh = std::exchange(spare_, nullptr);
        blocks_.push_back(fresh ? std::move(fresh) : std::make_unique_for_overwrite<Block>());
      }
      const std::size_t part = std::min(left, kBlock - static_cast<std::size_t>(end_ % kBlock));
      std::memcpy(place(end_), from, part);
      from += part;
      left -= part;
      end_ += part;
    }
  }
  next_ = end_;
}

bool Replay::came(std::uint64_t bytes) {
  if (bytes > end_) return false;
  begin_ = std::max(begin_, bytes);
  next_ = std::max(next_, begin_);
  for (; first_ != begin_ / kBlock; ++first_) {
    spare_ = std::move(blocks_.front());
    blocks_.pop_front();
  }
  return true;
}

bool Replay::rewind(std::uint64_t bytes) {
  if (bytes < begin_ || !came(bytes)) return false;
  next_ = begin_;
  return true;
}

std::span<const std::byte> Replay::next() const {
  const auto left = static_cast<std::size_t>(end_ - next_);
  return {place(next_), std::min(left, kBlock - static_cast<std::size_t>(next_ % kBlock))};
}

}  // namespace multitree::runtime::tcp
