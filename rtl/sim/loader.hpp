// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What a driver writes to an interface before it runs a collective.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "generated/mt_pkg.hpp"
#include "nic/encode/layout.hpp"
#include "nic/parameters.hpp"
#include "nic/table/table.hpp"
#include "rtl/sim/hardware.hpp"

namespace multitree::rtl {

/// Numbers of types in the mode register.
enum class HardwareType : std::uint8_t { Int32 = 0, Fp32 = 1, Bf16 = 2, Fp16 = 3 };
/// 4 or 2.
std::uint32_t bytes_of(HardwareType type);

/// Widths of entries of the verilated node, if it has so many groups.
nic::Layout verilated_layout(std::uint32_t groups = mt_pkg::kNumGroups);
/// Pieces of a collective, counted as flows times the most pieces of any.
inline constexpr std::uint32_t kPieces = 1U << mt_pkg::kNetPieceW;

/// Arming counts through all pieces.
inline constexpr std::uint32_t kArmCycles = kPieces + 3;

/// Doorbells of a rank that are rung.
struct Ring {
  std::uint64_t cycle = 0;  ///< in which it can be seen that they are; 0: before the first
  std::uint32_t rank = 0;
  std::uint32_t doorbells = 0;  ///< by bits
};

/// What a sum may do without; the roll call is group 0, the sum group 1.
struct Bounds {
  std::uint32_t deadline = 0;  ///< cycles since the start
  std::uint32_t least = 0;     ///< contributions that there must be
};

struct Collective {
  const nic::Tables& tables;
  const nic::Parameters& parameters;
  HardwareType type = HardwareType::Fp32;
  std::vector<std::uint64_t> step_lengths;  ///< as estimate_steps(); empty: no lockstep
  std::uint32_t watchdog = 100'000;         ///< cycles without any flit
  bool own_chunks = false;  ///< where chunks lie is taken from the entries, even if it is regular
  std::vector<Ring> rings = {};       ///< of tables of groups: doorbells, in the order of cycles
  std::optional<Bounds> bounds = {};  ///< none: nothing is missing
};

/// Which doorbell starts each group of an image: the most urgent group, that of the least priority
/// and then of the least number, has doorbell 0. Empty without groups.
/// \throws Error(Unsupported) naming the group if its entries have several priorities.
std::vector<std::uint32_t> doorbells_of(const nic::Tables& tables);

/// Pieces of the flow that has most; the hardware's number of a piece is flow * that + piece.
/// \throws Error(Unsupported) if that makes more than kPieces.
std::uint32_t pieces_per_flow(const nic::Tables& tables);

/// All tables, routes, steps and modes, for each rank. Entries are the bits of the image; of
/// several groups they are sorted by doorbell, and their group is that number. \throws
/// Error(Unsupported) as write_image(), and if routes have more than 13 links, if there are more
/// entries, routes or steps than tables have room for, or if ranks are more than 256, or groups
/// more than the interfaces. \param ports of each rank's interface; empty: those of Network. \param
/// groups that an interface has doorbells for, as its register GROUPS says.
std::vector<std::vector<RegisterWrite>> load(const Collective& collective,
                                             const std::vector<std::uint32_t>& ports = {},
                                             std::uint32_t groups = mt_pkg::kNumGroups);

/// Only what starts another run of what is loaded.
RegisterWrite arm();
RegisterWrite go();

}  // namespace multitree::rtl
