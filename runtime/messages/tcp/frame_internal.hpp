// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What goes over a connection between two ranks once they know each other.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/messages/transport.hpp"

namespace multitree::runtime::tcp {

enum class Kind : std::uint8_t {
  Message = 1,  ///< a message; its bytes follow
  Offer,        ///< a message that stays in its sender's memory; offers are numbered from 0
  Ask,          ///< the message of this offer is awaited
  Decline,      ///< the message of this offer is not wanted
  Given,        ///< what was asked for; its bytes follow
  Credit,       ///< nothing but `taken`
  Came,         ///< of a connection that lasts: so many bytes of the other end's stream have come
  Part,         ///< of a divided message, by its number from 0 on; its bytes follow
};

/// In front of everything; in the order of the processor, as both ends have the same (Hello).
struct Header {
  std::uint64_t what = 0;   ///< kind, and the tag of a message or the number of an offer
  std::uint64_t bytes = 0;  ///< of the message; of a part, its own
  /// Of a message, so many of its bytes follow: the others come over cables beside, and it is
  /// divided. Of a part, where it begins in the message.
  std::uint64_t part = 0;
  /// Of what the other end has sent unasked, so many bytes have found their receiver, in all.
  std::uint64_t taken = 0;

  Header() = default;
  Header(Kind kind, std::uint64_t tag_or_number, std::size_t length)
      : what((std::uint64_t{static_cast<std::uint8_t>(kind)} << kTagBits) | tag_or_number),
        bytes(length),
        part(length) {}
  [[nodiscard]] Kind kind() const { return static_cast<Kind>(what >> kTagBits); }
  [[nodiscard]] std::uint64_t number() const { return what & ((std::uint64_t{1} << kTagBits) - 1); }
};

/// Up to here a message costs its receiver no more than the offer of it, and goes unasked.
inline constexpr std::size_t kAlwaysUnasked = 512;

}  // namespace multitree::runtime::tcp
