// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What a driver writes to an interface before it runs a collective.
#pragma once

#include <cstdint>
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

/// Widths of entries of the verilated node.
nic::Layout verilated_layout();
/// Pieces of a collective, counted as flows times the most pieces of any.
inline constexpr std::uint32_t kPieces = 1U << mt_pkg::kNetPieceW;

struct Collective {
  const nic::Tables& tables;
  const nic::Parameters& parameters;
  HardwareType type = HardwareType::Fp32;
  std::vector<std::uint64_t> step_lengths;  ///< as estimate_steps(); empty: no lockstep
  std::uint32_t watchdog = 100'000;         ///< cycles without any flit
  bool own_chunks = false;  ///< where chunks lie is taken from the entries, even if it is regular
};

/// Pieces of the flow that has most; the hardware's number of a piece is flow * that + piece.
/// \throws Error(Unsupported) if that makes more than kPieces.
std::uint32_t pieces_per_flow(const nic::Tables& tables);

/// All tables, routes, steps and modes, for each rank. Entries are the bits of the image.
/// \throws Error(Unsupported) as write_image(), and if routes have more than 13 links or ranks more
/// than 256.
/// \param ports of each rank's interface; empty: those of Network.
std::vector<std::vector<RegisterWrite>> load(const Collective& collective,
                                             const std::vector<std::uint32_t>& ports = {});

/// Only what starts another run of what is loaded.
RegisterWrite arm();
RegisterWrite go();

}  // namespace multitree::rtl
