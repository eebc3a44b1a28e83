// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The families of the registry, one file each, and what they share in reading their parameters.
#pragma once

#include <string_view>
#include <vector>

#include "topologies/spec.hpp"
#include "topologies/topology.hpp"

namespace multitree {

/// Bandwidth and latency of a kind of link.
struct LinkSpeed {
  Bandwidth bandwidth{16'000'000'000};
  Time latency{150'000};
};

/// The MULTITREE study's link (ISCA 2021, section V): 16 GB/s and 150 ns.
inline constexpr LinkSpeed kStudyLink{};

/// Reads a bandwidth (a time) parameter. \throws Error(InvalidArgument) naming spec and key.
Bandwidth read_bandwidth(const Spec& spec, std::string_view key, Bandwidth fallback);
Time read_time(const Spec& spec, std::string_view key, Time fallback);
/// `bw=` and `lat=`.
LinkSpeed read_speed(const Spec& spec);
/// `<prefix>-bw=` and `<prefix>-lat=`, by default as given.
LinkSpeed read_speed(const Spec& spec, std::string_view prefix, LinkSpeed fallback);
/// `bw=` and `lat=` as lists of one value or one a dimension; the result has one a dimension.
std::vector<LinkSpeed> read_speeds(const Spec& spec, std::size_t dims);

/// Refuses networks that would exhaust memory: more than Spec::kMaxRanks ranks or kMaxLinks links.
/// \throws Error(InvalidArgument).
void check_size(const Spec& spec, std::uint64_t ranks, std::uint64_t links);
inline constexpr std::uint64_t kMaxLinks = 1U << 24;

Topology make_bigraph(const Spec& spec);
Topology make_cayley(const Spec& spec);
Topology make_dgx2(const Spec& spec);
Topology make_dgx_a100(const Spec& spec);
Topology make_dgx_h100(const Spec& spec);
Topology make_dragonfly(const Spec& spec);
Topology make_fat_tree(const Spec& spec);
Topology make_fat_tree3(const Spec& spec);
Topology make_full(const Spec& spec);
Topology make_hypercube(const Spec& spec);
Topology make_mesh(const Spec& spec);
Topology make_ring(const Spec& spec);
Topology make_star(const Spec& spec);
Topology make_torus(const Spec& spec);

}  // namespace multitree
