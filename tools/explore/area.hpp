// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What the interface and the router of a rank cost in hardware, from the records of synthesis.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "nic/parameters.hpp"
#include "topologies/topology.hpp"

namespace multitree::tools {

/// Generic gates and bits of memories, as docs/hardware.md counts them.
struct GateCount {
  double cells = 0, memory_bits = 0;
};

/// Rows of rtl/synth/budget.csv by their names; those without cells (of other targets) are left
/// out.
using AreaRecords = std::map<std::string, GateCount, std::less<>>;
/// \throws std::logic_error if it is not that file.
AreaRecords parse_area_records(std::string_view csv);
/// Those that this program was built with.
const AreaRecords& area_records();

/// Types that adders were synthesized for: "none", "fp32", "int32-fp32", ..., sorted.
std::vector<std::string> adder_names();

/// What an area is a function of.
struct AreaQuestion {
  bool is_hardware = true;
  nic::Parameters parameters;
  std::string adders = "fp32";
  std::uint32_t ranks = 0;
  std::uint32_t links = 0;  ///< of the rank with most, one way
  std::uint32_t ports = 0;  ///< of the interface with most
  bool has_switches = false;
  bool exchanges = false;  ///< ranks send sums while they take some in
};

/// How near an area is to a record.
enum class AreaKind : std::uint8_t {
  Unknown,       ///< no record covers it
  Record,        ///< one of the interface and one of the router
  Sum,           ///< of records: what each option adds alone
  Interpolated,  ///< between records, by the logarithm of what differs; may be a sum as well
};
std::string_view to_string(AreaKind kind);

struct Area {
  AreaKind kind = AreaKind::Unknown;
  std::uint64_t cells = 0, memory_bits = 0;  ///< interface and router
  std::string source;                        ///< the records; where it is unknown, what none covers
};

/// \param records may be others in tests.
Area area_of(const AreaQuestion& question, const AreaRecords& records);

}  // namespace multitree::tools
