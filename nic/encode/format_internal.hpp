// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What writer and reader of images share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "nic/encode/bits_internal.hpp"
#include "nic/encode/layout.hpp"
#include "nic/encode/uniform.hpp"

namespace multitree::nic {

inline constexpr std::string_view kImageMagic("MTTABLE\0", 8);
inline constexpr std::uint16_t kImageVersion = 3;
inline constexpr std::uint8_t kRelativeFlag = 1, kUniformFlag = 2, kSwitchesFlag = 4;
/// Bytes of a switch's name.
inline constexpr std::size_t kMostName = 255;

std::uint32_t image_checksum(std::string_view bytes);

/// What is wrong with a layout, "expected ..., got ..."; empty if nothing is.
std::string layout_fault(const Layout& layout);

/// How the entries of some tables become bits.
struct Packing {
  Layout layout;
  std::optional<UniformPieces> uniform;  ///< set: entries do not say start and size
};

/// \throws Error(InvalidArgument) if the layout is none; Error(Unsupported) if it has more than 128
/// bits.
Packing packing_of(const Tables& tables, const Layout& layout);

/// Appends an entry of a rank's table, not aligned.
/// \throws Error(Unsupported) for a value that does not fit; Error(InvalidArgument) for an entry
/// whose peer and port are not those of its route.
void put_entry(BitWriter& out, const Packing& packing, const Tables& tables, std::size_t rank,
               std::size_t entry);

}  // namespace multitree::nic
