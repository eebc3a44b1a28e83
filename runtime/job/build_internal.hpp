// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What all ranks of a job must have in common, so that they understand each other.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace multitree::runtime {

/// Of the library that a rank has. The handshake, and of the frames Hello, Welcome, Refused and
/// RankFailed, are the same in all of them, so that they can say that they differ.
struct Build {
  /// Counts changes of anything that ranks tell each other: frames, messages, shared memory.
  std::uint32_t format = 0;
  std::string version;
  auto operator<=>(const Build&) const = default;
};

/// This one.
const Build& own_build();

/// "multitree 0.1.0 (format 1)".
std::string words_of(const Build& build);

}  // namespace multitree::runtime
