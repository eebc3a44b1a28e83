// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Tables as bits: one image for the C++ model, the RTL and the runtime.
#pragma once

#include <string>
#include <string_view>

#include "nic/encode/layout.hpp"
#include "nic/table/table.hpp"

namespace multitree::nic {

/// Version 1, little endian, docs/nic-spec.md: magic, header, widths, entries of each rank, CRC-32.
/// Same tables, same bytes.
std::string write_image(const Tables& tables);

/// \throws Error(InvalidInput) naming `path`, the byte, what was expected and what was found: not
/// an image, another version, cut short, a wrong checksum, a wrong parity, a value out of range.
Tables read_image(std::string_view image, const std::string& path);

/// The table of one rank for $readmemh: an entry a line, as many hexadecimal digits as the layout
/// has bits.
std::string memory_file(const Tables& tables, Rank rank);

/// Widths, offsets and depths as localparams of the package `multitree_table_pkg`.
std::string systemverilog_package(const Tables& tables);

}  // namespace multitree::nic
