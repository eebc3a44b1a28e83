// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The first words that two ranks say on a connection.
#pragma once

#include <array>
#include <cstdint>

#include "runtime/job/keys_internal.hpp"
#include "runtime/messages/tcp/entrance_internal.hpp"

namespace multitree::runtime::tcp {

/// What an end says of the two streams that connections carry, one after the other.
struct Standing {
  std::uint32_t lasts = 0;    ///< 1: they outlast a connection, if both ends say so
  std::uint32_t attempt = 0;  ///< of the two to be connected: those with lower numbers are over
  std::uint64_t came = 0;     ///< bytes that this end has had
};

/// Over words, by the key of those who seal what they say (Pact); else zeros, as is the nonce.
using WordsCode = std::array<char, 16>;

/// The first thing that is said, by whoever comes.
struct Hello {
  std::array<char, 8> magic{};
  std::uint32_t order = 0;  ///< one number, to see that both ends read numbers alike
  std::uint32_t from = 0, to = 0;
  /// Which of the cables between the two the connection is for, and how many there are.
  std::uint16_t cable = 0, cables = 1;
  Standing standing;
  Secret knock{};
  Nonce nonce{};
  WordsCode code{};
};
Hello make_hello(Seat from, Seat to, const Secret& knock, std::uint16_t cable = 0,
                 std::uint16_t cables = 1);

/// What whoever opens says to a guest.
struct Welcome {
  Secret answer{};
  Standing standing;
  Nonce nonce{};
  WordsCode code{};
};

}  // namespace multitree::runtime::tcp
