// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Entries as bits.
#include <fmt/format.h>

#include <array>
#include <bit>
#include <boost/crc.hpp>

#include "nic/encode/format_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::nic {
namespace {

constexpr std::uint32_t kMostBits = 128;

void check_route(const Tables& tables, std::size_t rank, std::size_t i) {
  const Entry& entry = tables.of_rank[rank][i];
  if (entry.op == Opcode::Nop) return;
  if (rank < tables.routes.size() && entry.route < tables.routes[rank].size()) {
    const TableRoute& route = tables.routes[rank][entry.route];
    if (route.peer == entry.peer && route.port == entry.port) return;
  }
  throw Error(
      ErrorCode::InvalidArgument,
      fmt::format("tables: rank {}, entry {}: expected a route to rank {} from port {}, got "
                  "route {}, which is none",
                  rank, i, index(entry.peer), entry.port, entry.route));
}

}  // namespace

std::uint32_t image_checksum(std::string_view bytes) {
  boost::crc_32_type crc;
  crc.process_bytes(bytes.data(), bytes.size());
  return crc.checksum();
}

std::string layout_fault(const Layout& layout) {
  constexpr std::array<std::uint8_t, kFields> kMost = {2,  32, 32, 32, 32, 32, 32,
                                                       32, 64, 64, 32, 32, 1};
  for (std::size_t f = 0; f < kFields; ++f) {
    const auto field = static_cast<Field>(f);
    const bool is_fixed = field == Field::Op || field == Field::Parity;
    if (layout.width[f] <= kMost[f] && (!is_fixed || layout.width[f] == kMost[f])) continue;
    return fmt::format("expected {}{} bits for {}, got {}", is_fixed ? "" : "0 to ", kMost[f],
                       kFieldNames[f], layout.width[f]);
  }
  if (layout.bits() <= kMostBits) return {};
  return fmt::format("expected entries of at most {} bits, got {}", kMostBits, layout.bits());
}

Packing packing_of(const Tables& tables, const Layout& layout) {
  if (const std::string fault = layout_fault(layout); !fault.empty()) {
    throw Error(layout.bits() > kMostBits ? ErrorCode::Unsupported : ErrorCode::InvalidArgument,
                "tables: " + fault);
  }
  return {layout, layout.has_elements() ? std::nullopt : uniform_pieces(tables)};
}

void put_entry(BitWriter& out, const Packing& packing, const Tables& tables, std::size_t rank,
               std::size_t entry) {
  check_route(tables, rank, entry);
  out.take_ones();
  const auto values = values_of(tables.of_rank[rank][entry]);
  for (std::size_t f = 0; f + 1 < kFields; ++f) {
    const auto field = static_cast<Field>(f);
    if (packing.uniform && (field == Field::Start || field == Field::Size)) continue;
    const std::uint32_t width = packing.layout.width[f];
    const std::uint64_t value = values[f];
    if (static_cast<std::uint32_t>(std::bit_width(value)) > width) {
      throw Error(ErrorCode::Unsupported,
                  fmt::format("tables: rank {}, entry {}: expected {} in {} bits, got {}", rank,
                              entry, kFieldNames[f], width, value));
    }
    out.put(value, width);
  }
  out.put(out.take_ones() % 2, 1);
}

}  // namespace multitree::nic
