// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Writing of images.
#include <fmt/format.h>

#include "nic/encode/format_internal.hpp"
#include "nic/encode/image.hpp"
#include "nic/encode/route_layout.hpp"
#include "topologies/error.hpp"

namespace multitree::nic {
namespace {

/// Nothing without any.
void put_switches(BitWriter& out, const Tables& tables) {
  if (tables.switches.empty()) return;
  out.number(static_cast<std::uint32_t>(tables.switches.size()));
  for (const std::string& name : tables.switches) {
    if (name.empty() || name.size() > kMostName) {
      throw Error(ErrorCode::Unsupported,
                  fmt::format("tables: expected names of switches of 1 to {} bytes, got {} bytes",
                              kMostName, name.size()));
    }
    out.number(static_cast<std::uint8_t>(name.size()));
    for (const char letter : name) out.number(static_cast<std::uint8_t>(letter));
  }
}

void put_header(BitWriter& out, const Tables& tables, const Packing& packing,
                const RouteLayout& routes) {
  out.number(kImageVersion);
  out.number(static_cast<std::uint8_t>(tables.collective));
  out.number(static_cast<std::uint8_t>((tables.relative ? kRelativeFlag : 0U) |
                                       (packing.uniform ? kUniformFlag : 0U) |
                                       (tables.switches.empty() ? 0U : kSwitchesFlag)));
  out.number(index(tables.root));
  out.number(tables.ranks);
  out.number(tables.steps);
  out.number(tables.elements);
  out.number(tables.classes);
  out.number(ports_of(tables));
  const UniformPieces none{.pieces_per_flow = 0, .size = 0};
  const UniformPieces pieces = packing.uniform.value_or(none);
  out.number(pieces.pieces_per_flow);
  out.number(pieces.size);
  for (const std::uint8_t width : packing.layout.width) out.number(width);
  for (const std::uint8_t width :
       {routes.peer, routes.ejection, routes.further, routes.port, routes.vc_class}) {
    out.number(width);
  }
  out.number(static_cast<std::uint32_t>(tables.groups.size()));
  for (const TableGroup& group : tables.groups) {
    out.number(static_cast<std::uint8_t>(group.collective));
    out.number(index(group.root));
    out.number(group.steps);
    out.number(group.first_flow);
    out.number(group.first_element);
    out.number(group.elements);
  }
  put_switches(out, tables);
  for (std::size_t r = 0; r < tables.of_rank.size(); ++r) {
    // Entries without routes are refused when they are written.
    const std::size_t number = r < tables.routes.size() ? tables.routes[r].size() : 0;
    out.number(static_cast<std::uint32_t>(number));
    out.number(static_cast<std::uint32_t>(tables.of_rank[r].size()));
  }
}

void put_route(BitWriter& out, const TableRoute& route, const RouteLayout& layout) {
  const std::size_t hops = route.hops.size();
  out.put(index(route.peer), layout.peer);
  out.put(route.ejection, layout.ejection);
  out.put(hops == 0 ? 0 : hops - 1, layout.further);
  out.put(route.port, layout.port);
  out.put(hops == 0 ? 0 : route.hops.front().vc_class, layout.vc_class);
  for (std::size_t h = 1; h < hops; ++h) {
    out.put(route.hops[h].port, layout.port);
    out.put(route.hops[h].vc_class, layout.vc_class);
  }
  out.align();
}

}  // namespace

std::string write_image(const Tables& tables) { return write_image(tables, layout_of(tables)); }

std::string write_image(const Tables& tables, const Layout& layout) {
  const Packing packing = packing_of(tables, layout);
  const RouteLayout route_layout = route_layout_of(tables);
  BitWriter out{std::string(kImageMagic)};
  put_header(out, tables, packing, route_layout);
  for (const auto& routes : tables.routes) {
    for (const TableRoute& route : routes) put_route(out, route, route_layout);
  }
  for (std::size_t r = 0; r < tables.of_rank.size(); ++r) {
    for (std::size_t i = 0; i < tables.of_rank[r].size(); ++i) {
      put_entry(out, packing, tables, r, i);
      out.align();
    }
  }
  out.number(image_checksum(out.bytes()));
  return std::move(out).take();
}

}  // namespace multitree::nic
