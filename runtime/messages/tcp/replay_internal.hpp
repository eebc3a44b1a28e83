// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What was written and may not have come.
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>

namespace multitree::runtime::tcp {

/// The last bytes of a stream, from the first of which its reader has not said that it came. Over
/// another connection they are written again, from where the reader is.
class Replay {
 public:
  /// Kept at most, far more than is on its way over a link; a writer who is so far ahead waits.
  static constexpr std::size_t kMost = std::size_t{4} << 20;
  /// A reader tells where it is whenever so many bytes have come.
  static constexpr std::size_t kTold = kMost / 16;

  [[nodiscard]] std::size_t room() const { return kMost - static_cast<std::size_t>(end_ - begin_); }
  /// The first `bytes` of `pieces` have been written; \pre at most room()
  void keep(std::span<const iovec> pieces, std::size_t bytes);
  /// The reader has so many bytes of the stream, or has had them when it said so. False: so many
  /// have never been written.
  bool came(std::uint64_t bytes);
  /// The reader starts behind so many bytes. False: they were not written, or are not kept.
  bool rewind(std::uint64_t bytes);

  /// Whether there is something to be written again.
  [[nodiscard]] bool behind() const { return next_ != end_; }
  /// The next of it; \pre behind()
  [[nodiscard]] std::span<const std::byte> next() const;
  /// So many bytes of next() have been written.
  void rewrote(std::size_t bytes) { next_ += bytes; }

 private:
  static constexpr std::size_t kBlock = std::size_t{64} << 10;
  using Block = std::array<std::byte, kBlock>;

  /// Where byte `at` of the stream lies.
  [[nodiscard]] std::byte* place(std::uint64_t at) const {
    return blocks_[at / kBlock - first_]->data() + at % kBlock;
  }

  std::deque<std::unique_ptr<Block>> blocks_;
  std::unique_ptr<Block> spare_;
  std::uint64_t first_ = 0;            ///< the block of the stream that is the first of these
  std::uint64_t begin_ = 0, end_ = 0;  ///< of the stream: what is kept
  std::uint64_t next_ = 0;             ///< written over this connection
};

}  // namespace multitree::runtime::tcp
