// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Chakra execution traces of programs, read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace multitree {

enum class ChakraKind : std::uint8_t {
  Compute,
  Message,     ///< a send or a receive
  Collective,  ///< of `collective`
  Other        ///< memory, metadata, and what later versions add
};

/// What a rank does.
struct ChakraNode {
  std::uint64_t id = 0;
  std::string name;
  ChakraKind kind = ChakraKind::Other;
  bool on_cpu = false;               ///< it prepares what others compute
  std::vector<std::uint32_t> after;  ///< numbers of nodes in the trace
  double seconds = 0;                ///< 0: not measured
  double operations = 0;             ///< of computing, and what it moves in memory
  double moved_bytes = 0;
  std::uint64_t collective = 0;  ///< Chakra's number
  std::uint64_t bytes = 0;       ///< that it communicates
};

/// Chakra's number of the collective that sums up at all ranks.
inline constexpr std::uint64_t kChakraAllReduce = 0;

/// By its first bytes: a trace has some that no text has.
bool is_chakra_trace(std::string_view text);

/// One rank's trace: each node behind those that it is after, else in the order of the file.
/// \throws Error(InvalidInput) "file: node N ('name'): ...", for what is cut off or no trace
/// "file: message N: ...".
std::vector<ChakraNode> parse_chakra_trace(std::string_view text, const std::string& file);

}  // namespace multitree
