// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A stream of data through a socket, in records.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "runtime/messages/tcp/records_internal.hpp"

namespace multitree::runtime::tcp {

/// Records that go through a socket, or come, together.
inline constexpr std::size_t kRecordsAtOnce = 8;

/// The end of one connection that writes.
class SealedWriter {
 public:
  explicit SealedWriter(const Key& key) : records_(key) {}

  /// As sendmsg() of `pieces`, which are of no more concern here then, though what they have become
  /// may be held until the socket takes it.
  ssize_t write(int socket, std::span<const iovec> pieces);
  /// Whether something is held.
  [[nodiscard]] bool holds() const { return begin_ != end_; }
  /// Writes what is held. False: not all of it, as errno says.
  bool push(int socket);

 private:
  static constexpr std::size_t kRoom = kRecordsAtOnce * (Records::kMost + Records::kAround);

  Records records_;
  std::unique_ptr<std::byte[]> held_ = std::make_unique_for_overwrite<std::byte[]>(kRoom);
  std::size_t begin_ = 0, end_ = 0;
};

/// The end of one connection that reads.
class SealedReader {
 public:
  explicit SealedReader(const Key& key) : records_(key) {}

  /// As readv() into `parts`; EBADMSG: what came is not what the other end has sealed.
  ssize_t read(int socket, std::span<const iovec> parts);
  /// Whether read() has said EBADMSG, as it does from then on.
  [[nodiscard]] bool refuses() const { return refuses_; }

 private:
  enum class Step : std::uint8_t { Opened, Incomplete, Wrong };
  Step open_next();
  ssize_t fill(int socket);

  static constexpr std::size_t kRoom = kRecordsAtOnce * (Records::kMost + Records::kAround);

  Records records_;
  std::unique_ptr<std::byte[]> buffer_ = std::make_unique_for_overwrite<std::byte[]>(kRoom);
  std::size_t begin_ = 0, end_ = 0;    ///< what is to be opened
  std::size_t open_ = 0, opened_ = 0;  ///< what is open, and nobody has read
  bool refuses_ = false;
};

/// Both directions of one connection at one of its ends. Null: nothing is sealed.
struct Sealing {
  std::unique_ptr<SealedWriter> writes;
  std::unique_ptr<SealedReader> reads;
};

}  // namespace multitree::runtime::tcp
