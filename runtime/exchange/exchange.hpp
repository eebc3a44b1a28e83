// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What goes straight from rank to rank, without a schedule: messages between two ranks, and
/// collectives whose shares differ.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "algorithms/collective.hpp"
#include "runtime/kernels/data_type.hpp"

namespace multitree::runtime {

/// Names and meanings as in MPI.
enum class Exchange : std::uint8_t {
  None,
  Send,
  Receive,
  AllToAll,   ///< every rank has a share for each rank, all of them equally long
  AllToAllv,  ///< and of any lengths
  AllGatherv,
  ReduceScatterv,
  Gatherv,
  Scatterv,
  Probe,  ///< waits for a message that can be received, and leaves it there
};

/// "send", "receive", "alltoall", "alltoallv", ...; "" for None.
std::string_view to_string(Exchange exchange);

/// Parts of a buffer, in elements: one for each rank, or one alone.
struct Shares {
  std::vector<std::size_t> counts;
  std::vector<std::size_t> begins;  ///< from the beginning of the buffer; empty: side by side
  /// Instead of both: so many shares of so many elements each, side by side.
  std::size_t number = 0, each = 0;

  static Shares one(std::size_t count) { return equal(count, 1); }
  static Shares equal(std::size_t count, std::uint32_t ranks) {
    Shares shares;
    shares.number = ranks;
    shares.each = count;
    return shares;
  }

  [[nodiscard]] bool are_equal() const { return number != 0; }
  [[nodiscard]] std::size_t size() const { return are_equal() ? number : counts.size(); }
  [[nodiscard]] std::size_t count(std::size_t share) const {
    return are_equal() ? each : counts[share];
  }
};

/// An exchange with its arguments.
///
/// | exchange       | sent                     | received                               | peer |
/// |----------------|--------------------------|----------------------------------------|----------|
/// | Send           | `count`                  |                                        | receiver
/// | | Receive        |                          | `count`                                | sender
/// | | AllToAll(v)    | one for each rank        | one of each rank                       | | |
/// AllGatherv     | one                      | one of each rank, everywhere the same  |          |
/// | ReduceScatterv | one for each rank, everywhere the same | one: the sum of this rank's |      |
/// | Gatherv        | one                      | root: one of each rank                 | root | |
/// Scatterv       | root: one for each rank  | one                                    | root     |
///
/// In place: for AllGatherv, and Gatherv at the root, `send` is the own share in `recv`; for
/// ReduceScatterv, and Scatterv at the root, `recv` is that in `send`.
struct ExchangeCall {
  Exchange exchange{};
  const void* send = nullptr;
  void* recv = nullptr;
  DataType type{};
  ReduceOp op = ReduceOp::Sum;  ///< of ReduceScatterv
  Rank peer{};
  Shares sent = {}, received = {};
  std::size_t count = 0;   ///< elements of Send and Receive
  bool of_any = false;     ///< Probe: of a message of any rank, in place of `peer`
  Rank* sender = nullptr;  ///< of Probe: set to whose message it is
};

}  // namespace multitree::runtime
