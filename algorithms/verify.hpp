// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Proof that a schedule does what its collective says on this network. Shares no code with the
/// generators: it replays the transfers on symbolic values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/schedule.hpp"
#include "topologies/topology.hpp"

namespace multitree {

enum class ViolationKind : std::uint8_t {
  BadHeader,            ///< rank count, root, chunk owner or weights do not fit the collective
  BadTransfer,          ///< a rank or chunk out of range, a message to itself, or not in step order
  BadRoute,             ///< a link that does not exist, a gap, or wrong ends
  LinkConflict,         ///< a link carries more transfers in a step than it has slots
  MissingData,          ///< a rank sends a chunk (or reduces into one) that it does not hold yet
  WriteConflict,        ///< a copy and another write hit the same rank and chunk in one step
  DoubleCount,          ///< a contribution is in a final value more than once
  MissingContribution,  ///< a contribution is not in a final value
  MissingChunk,         ///< a rank ends without a chunk that it must have
  CannotAdd,            ///< messages are summed where no switch adds
  CannotCopy,           ///< a message is copied where no switch copies
  SwitchOverload,       ///< a switch adds and copies more messages in a step than it can
};
std::string_view to_string(ViolationKind kind);

/// One broken rule, with what is known of the place.
struct Violation {
  ViolationKind kind{};
  std::optional<std::uint32_t> step;
  std::optional<std::uint32_t> chunk;
  std::optional<Rank> src;  ///< sender; of DoubleCount and MissingContribution: the contributor
  std::optional<Rank> dst;  ///< receiver, or the rank whose final value is wrong
  std::optional<LinkId> link;
  std::string message;  ///< all of the above in words
};

struct VerifyReport {
  std::vector<Violation> violations;  ///< the first VerifyOptions::max_violations
  std::uint64_t total_violations = 0;
  [[nodiscard]] bool ok() const { return total_violations == 0; }
  [[nodiscard]] bool has(ViolationKind kind) const;
};

struct VerifyOptions {
  std::size_t max_violations = 20;
  /// Replays all contributions even where counting them is enough.
  bool replay_always = false;
};

/// Checks header, routes, link use and, chunk by chunk, the exact multiset of contributions in
/// every value (counts saturate at 255). O(T*N) byte operations in SIMD, O(N^2) memory; O(T) and a
/// number for each chunk and rank where partial sums are merged along trees.
VerifyReport verify(const Schedule& schedule, const Topology& topology,
                    const VerifyOptions& options = {});

}  // namespace multitree
