// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How the two ends of a control connection show each other that they know the job's key, and how
/// each frame shows that it is the next one of somebody who does.
///
///     who accepts    magic, nonce                28 bytes
///     who has come   magic, nonce, its code      60
///     who accepts    its code                    32; zeros: that was not this job's key
///     both           frames, each with a code over its number and its bytes
///
/// Codes are HMACs with a key of the connection and the direction, made of the job's key and both
/// nonces: what was said on another connection, in the other direction or at another place has
/// none. Of a stranger nothing is read but the 60 bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/job/keys_internal.hpp"

namespace multitree::runtime {

/// Of a frame.
using Code = std::array<char, 16>;

/// The codes of one direction, each for the next frame.
class Seal {
 public:
  explicit Seal(const Key& key) : key_(key) {}
  /// `digest`: of the frame.
  Code next(const Key& digest);

 private:
  Key key_;
  std::uint64_t count_ = 0;
};

/// What comes before the frames.
class Handshake {
 public:
  enum class Side : std::uint8_t { Caller, Acceptor };
  enum class Step : std::uint8_t {
    Waiting,       ///< for more
    Done,          ///< both know the key
    Refused,       ///< the other end says that this is not its key
    OtherVersion,  ///< the other end greets as another version of this library does
    Wrong,         ///< the other end does not know the key, or speaks no language of ours
  };
  Handshake(Side side, const Key& key);

  /// Bytes that the other end says next.
  [[nodiscard]] std::size_t awaited() const;
  /// \pre heard.size() == awaited()
  Step hear(std::string_view heard);
  /// To be sent; each is told once.
  std::string take_words() { return std::exchange(words_, {}); }
  /// \pre Done
  [[nodiscard]] Seal sends() const;
  [[nodiscard]] Seal receives() const;

 private:
  [[nodiscard]] Key key_for(Side speaker) const;
  Step judge_caller(std::string_view heard);
  Step greet_back(std::string_view heard);

  Side side_;
  Key key_;
  Nonce own_, other_{};
  bool greeted_ = false;  ///< a caller has answered
  std::string words_;
};

}  // namespace multitree::runtime
