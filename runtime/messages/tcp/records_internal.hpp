// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Records: pieces of a stream of data that only its two ends can read, and that nobody can change,
/// repeat, leave out, bring in another order or carry over to another connection.
///
///     length of what is sealed   4 bytes, in the order of the network
///     what is sealed             1 to kMost
///     tag                        16
///
/// By AES-256-GCM. The nonce is the number of the record in its direction of its connection, which
/// has a key of its own; the length is authenticated with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "runtime/job/keys_internal.hpp"
#include "runtime/messages/tcp/cipher_internal.hpp"

namespace multitree::runtime::tcp {

/// Why this machine cannot seal records; empty if it can.
std::string why_no_records();

/// The records of one direction, in their order.
class Records {
 public:
  static constexpr std::size_t kMost = std::size_t{16} << 10;  ///< bytes that one seals
  static constexpr std::size_t kHeader = 4, kTag = Cipher::kTag, kAround = kHeader + kTag;
  /// A key seals so many, 16 GiB: far below what one of AES-GCM may.
  static constexpr std::uint64_t kRenewal = std::uint64_t{1} << 20;

  /// \pre why_no_records() is empty
  explicit Records(const Key& key, std::uint64_t renewal = kRenewal);
  ~Records();
  Records(const Records&) = delete;
  Records& operator=(const Records&) = delete;

  /// Makes the next record of the `bytes` at `record` + kHeader, with what lies around them.
  void seal(std::byte* record, std::size_t bytes);
  /// Bytes that the record seals which begins so, with kHeader bytes; 0: that is none.
  static std::size_t length_in(const std::byte* record);
  /// Opens the next one, which seals `bytes`, where it lies. False: it is not the next one of
  /// whoever knows the key, and none is any more.
  bool open(std::byte* record, std::size_t bytes);

 private:
  /// Of the next record.
  Cipher::Number next();

  Key key_;
  std::unique_ptr<Cipher> cipher_;
  std::uint64_t renewal_, count_ = 0;
  bool over_ = false;  ///< one did not open
};

}  // namespace multitree::runtime::tcp
