// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Dragonfly (Kim, Dally, Scott, Abts, ISCA 2008): groups of fully linked routers, all groups
/// linked.
#include <fmt/format.h>

#include "topologies/families.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

struct Sizes {
  std::uint32_t routers;  // a: routers a group
  std::uint32_t globals;  // h: global links a router
  std::uint32_t hosts;    // p: terminals a router
  std::uint32_t groups;   // g
};

Sizes read_sizes(const Spec& spec, const std::vector<std::uint32_t>& dims) {
  Sizes sizes{dims[0], dims[1], dims[2], 0};
  const std::uint32_t most = sizes.routers * sizes.globals + 1;
  sizes.groups = spec.get_number("groups", most, 1, most);
  const std::uint64_t routers = std::uint64_t{sizes.groups} * sizes.routers;
  check_size(spec, routers * sizes.hosts,
             routers * (2 * sizes.hosts + (sizes.routers - 1) + sizes.globals));
  return sizes;
}

// Global links. Group G has a*h ports; port q belongs to router q/h. Its ports go round the other
// groups in ascending order, as many whole rounds m as there are ports for:
//
//   g = 4, a*h = 6     port of group 1:   0 1 2   3 4 5
//                      leads to group:    0 2 3   0 2 3      m = 0, 0, 0, 1, 1, 1
//
// so port m*(g-1) + (D < G ? D : D-1) of group G meets port m*(g-1) + (G < D ? G : G-1) of group D.
void add_global_links(TopologyBuilder& builder, const Sizes& sizes, std::uint32_t first_router,
                      const LinkSpeed& speed) {
  if (sizes.groups < 2) return;
  const std::uint32_t peers = sizes.groups - 1;
  const std::uint32_t rounds = sizes.routers * sizes.globals / peers;
  const auto router = [&](std::uint32_t group, std::uint32_t port) {
    return NodeId{first_router + group * sizes.routers + port / sizes.globals};
  };
  for (std::uint32_t round = 0; round < rounds; ++round) {
    for (std::uint32_t low = 0; low < sizes.groups; ++low) {
      for (std::uint32_t high = low + 1; high < sizes.groups; ++high) {
        builder.add_duplex(router(low, round * peers + high - 1), router(high, round * peers + low),
                           speed.bandwidth, speed.latency);
      }
    }
  }
}

// rank = p*(a*group + router) + i
Topology make_dragonfly(const Spec& spec) {
  const std::vector<std::uint32_t> dims = spec.dims(3, 3);
  const Sizes sizes = read_sizes(spec, dims);
  const LinkSpeed speed = read_speed(spec);
  const LinkSpeed local = read_speed(spec, "local", speed);
  const LinkSpeed global = read_speed(spec, "global", speed);
  const std::uint32_t routers = sizes.groups * sizes.routers, ranks = routers * sizes.hosts;

  TopologyBuilder builder(spec.text());
  builder.set_shape({spec.name(), {sizes.routers, sizes.globals, sizes.hosts, sizes.groups}});
  for (std::uint32_t rank = 0; rank < ranks; ++rank) builder.add_endpoint();
  for (std::uint32_t i = 0; i < routers; ++i) {
    builder.add_switch(fmt::format("g{}r{}", i / sizes.routers, i % sizes.routers));
  }
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    builder.add_duplex(NodeId{rank}, NodeId{ranks + rank / sizes.hosts}, speed.bandwidth,
                       speed.latency);
  }
  for (std::uint32_t group = 0; group < sizes.groups; ++group) {
    const std::uint32_t first = ranks + group * sizes.routers;
    for (std::uint32_t a = 0; a < sizes.routers; ++a) {
      for (std::uint32_t b = a + 1; b < sizes.routers; ++b) {
        builder.add_duplex(NodeId{first + a}, NodeId{first + b}, local.bandwidth, local.latency);
      }
    }
  }
  add_global_links(builder, sizes, ranks, global);
  return std::move(builder).build();
}

}  // namespace

TopologyFamily dragonfly_family() {
  return {.name = "dragonfly",
          .dims = "AxHxP",
          .summary = "A routers a group, H global links and P ranks a router",
          .ranks = "A*P*groups",
          .links = "groups of A fully linked routers g0r0, P ranks and H global links each",
          .parameters =
              "groups=A*H+1; bw=16GB/s, lat=150ns: of every link; local-bw, local-lat: "
              "inside a group; global-bw, global-lat: between groups",
          .example = "dragonfly:4x1x2",
          .make = make_dragonfly};
}

}  // namespace multitree
