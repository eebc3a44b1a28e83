// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What links lose and corrupt, drawn by a function that model and hardware share:
/// docs/nic-spec.md, "Links that lose".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace multitree::nic {

/// Links that lose, of which the part `rate` of all frames, and of all answers, does not arrive as
/// it was sent: half of it is lost, half is corrupt.
struct LinkErrors {
  double rate = 0;         ///< 0 to 1
  std::uint64_t seed = 1;  ///< of the draws
};

/// Frames go forth, answers back.
enum class LinkWay : std::uint8_t { Forth, Back };

/// What becomes of a frame or an answer.
struct LinkFate {
  enum class Kind : std::uint8_t { Arrives, Lost, Corrupt };
  Kind kind = Kind::Arrives;
  std::uint64_t noise = 0;  ///< random bits: which of its own are wrong
};

/// Of the `number`-th that is sent that way on a link, from 0: the same for the same arguments.
LinkFate fate_of(const LinkErrors& errors, std::uint32_t link, LinkWay way, std::uint64_t number);

/// What was sent over links, and what not in vain.
struct LinkCounts {
  std::uint64_t frames = 0;   ///< with a flit or empty
  std::uint64_t bad = 0;      ///< frames that were lost or corrupt
  std::uint64_t answers = 0;  ///< back
  std::uint64_t bad_answers = 0;
  std::uint64_t flits = 0;   ///< that are to be carried
  std::uint64_t resent = 0;  ///< frames with a flit that had been sent before
  LinkCounts& operator+=(const LinkCounts& other);
  bool operator==(const LinkCounts&) const = default;
};

/// "RATE" or "RATE,SEED". \throws Error(InvalidArgument) saying what was expected.
LinkErrors parse_link_errors(std::string_view text);

}  // namespace multitree::nic
