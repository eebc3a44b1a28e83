// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From an exchange to what one rank sends, receives and copies.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstddef>
#include <cstdint>

#include "runtime/exchange/exchange.hpp"
#include "runtime/execution/shared_call_internal.hpp"
#include "runtime/job/links.hpp"

namespace multitree::runtime {

/// Of each rank one, of few ranks without an allocation.
template <typename T>
using Few = boost::container::small_vector<T, 8>;

/// Part of a user's buffer, and whom it goes to or comes from.
template <typename Byte>
struct Move {
  Seat peer{};
  Byte* data = nullptr;
  std::size_t bytes = 0;
};

/// Peers in an order in which nobody is everybody's first: rank r sends to r + 1, r + 2, ..., and
/// receives from r - 1, r - 2, ...
struct Moves {
  Few<Move<const std::byte>> out;
  Few<Move<std::byte>> in;
  Move<const std::byte> own;    ///< what stays here: from there
  std::byte* own_to = nullptr;  ///< to here; null: nothing does
};

/// Bytes of Send and Receive. \throws Error(InvalidArgument) as moves_of()
std::size_t pair_bytes(const ExchangeCall& call, std::uint32_t ranks);

/// \throws Error(InvalidArgument): sizes do not fit the address space, a buffer that is needed is
/// null, shares overlap, a peer that there is not, the own share's two counts differ.
Moves moves_of(const ExchangeCall& call, Seat self, std::uint32_t ranks);

/// Whether inputs are reduced.
[[nodiscard]] bool reduces(Exchange exchange);
/// Whether who sends has a share for each rank, and not one for all that it sends to.
[[nodiscard]] bool has_share_for_each(Exchange exchange);
/// Whether all ranks make the call, and not two.
[[nodiscard]] bool is_collective(Exchange exchange);

/// What all ranks call alike, as far as it is common.
CommonCall common_call(const ExchangeCall& call);

}  // namespace multitree::runtime
