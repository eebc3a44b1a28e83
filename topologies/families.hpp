// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What the families share in reading their parameters. Each is a file that ends with its row of
/// the registry.
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

/// Of a network adapter, its PCIe path and a cable: an assumption, as vendors publish none.
inline constexpr Time kAdapterLatency{500'000};

/// Documentation of read_speed() and read_speeds() for TopologyFamily::parameters.
inline constexpr std::string_view kLinkParameters = "bw=16GB/s, lat=150ns: of every link";
inline constexpr std::string_view kGridParameters =
    "bw=16GB/s, lat=150ns: of every link, or a list with one value a dimension";

/// Reads a bandwidth (a time) parameter. \throws Error(InvalidArgument) naming spec and key.
Bandwidth read_bandwidth(const Spec& spec, std::string_view key, Bandwidth fallback);
Time read_time(const Spec& spec, std::string_view key, Time fallback);
/// `bw=` and `lat=`.
LinkSpeed read_speed(const Spec& spec);
/// `<prefix>-bw=` and `<prefix>-lat=`, by default as given.
LinkSpeed read_speed(const Spec& spec, std::string_view prefix, LinkSpeed fallback);
/// `bw=` and `lat=` as lists of one value or one a dimension; the result has one a dimension.
std::vector<LinkSpeed> read_speeds(const Spec& spec, std::size_t dims,
                                   const LinkSpeed& usual = kStudyLink);

/// Refuses networks that would exhaust memory: more than Spec::kMaxRanks ranks or kMaxLinks links.
/// \throws Error(InvalidArgument).
void check_size(const Spec& spec, std::uint64_t ranks, std::uint64_t links);
inline constexpr std::uint64_t kMaxLinks = 1U << 24;

}  // namespace multitree
