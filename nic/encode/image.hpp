// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Tables as bits: one image for the C++ model, the RTL and the runtime.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "nic/encode/layout.hpp"
#include "nic/table/table.hpp"

namespace multitree::nic {

/// Version 3, little endian, docs/nic-spec.md: magic, header, widths, groups, routes and entries of
/// each rank, CRC-32. Same tables, same bytes. The widths are those of layout_of(). \throws
/// Error(InvalidArgument) naming rank and entry if an entry's peer and port are not those of a
/// route of its rank, as in tables that were compiled for simulation; Error(Unsupported) if entries
/// have more than 128 bits.
std::string write_image(const Tables& tables);

/// The same with widths that somebody else chose. With 0 bits for start and size the pieces have to
/// be uniform (uniform_pieces()).
/// \throws as above; Error(Unsupported) naming rank, entry, field, width and value if a value does
/// not fit; Error(InvalidArgument) if op has not 2 bits, parity not 1, or another field more than
/// its values can have.
std::string write_image(const Tables& tables, const Layout& layout);

/// \throws Error(InvalidInput) naming `path`, the byte, what was expected and what was found: not
/// an image, another version, cut short, a wrong checksum, a wrong parity, a value out of range.
Tables read_image(std::string_view image, const std::string& path);

/// The table of one rank as hardware is given it: each entry in words of its own, the lowest first.
/// \throws as write_image().
std::vector<std::uint32_t> entry_words(const Tables& tables, Rank rank, const Layout& layout);

/// The table of one rank for $readmemh: an entry a line, as many hexadecimal digits as the layout
/// has bits. \throws as write_image().
std::string memory_file(const Tables& tables, Rank rank);
std::string memory_file(const Tables& tables, Rank rank, const Layout& layout);

/// Widths, offsets and depths as localparams of the package `multitree_table_pkg`; fields without
/// bits have width 0 and an offset that means nothing. \throws as write_image(), but looks at no
/// entry.
std::string systemverilog_package(const Tables& tables);
std::string systemverilog_package(const Tables& tables, const Layout& layout);

}  // namespace multitree::nic
