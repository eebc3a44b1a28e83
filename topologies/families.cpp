// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Reading the link parameters that the families share.
#include "topologies/families.hpp"

#include <fmt/format.h>

#include "topologies/error.hpp"

namespace multitree {
namespace {

// Adds the spec and the key to what the unit parsers report.
template <class Parse>
auto parse_value(const Spec& spec, std::string_view key, std::string_view text, Parse parse) {
  try {
    return parse(text);
  } catch (const Error& error) {
    spec.fail(fmt::format("{}: {}", key, error.what()));
  }
}

template <class Parse>
auto read_list(const Spec& spec, std::string_view key, std::string_view fallback, std::size_t dims,
               Parse parse) {
  std::vector<decltype(parse(fallback))> values;
  for (const std::string& item : spec.get_list(key, fallback)) {
    values.push_back(parse_value(spec, key, item, parse));
  }
  if (values.size() != 1 && values.size() != dims) {
    spec.fail(fmt::format("{}: expected 1 value or {}, one a dimension, got {}", key, dims,
                          values.size()));
  }
  values.resize(dims, values.front());
  return values;
}

}  // namespace

Bandwidth read_bandwidth(const Spec& spec, std::string_view key, Bandwidth fallback) {
  return parse_value(spec, key, spec.get(key, to_string(fallback)), parse_bandwidth);
}

Time read_time(const Spec& spec, std::string_view key, Time fallback) {
  return parse_value(spec, key, spec.get(key, to_string(fallback)), parse_time);
}

LinkSpeed read_speed(const Spec& spec) {
  return {read_bandwidth(spec, "bw", kStudyLink.bandwidth),
          read_time(spec, "lat", kStudyLink.latency)};
}

LinkSpeed read_speed(const Spec& spec, std::string_view prefix, LinkSpeed fallback) {
  return {read_bandwidth(spec, fmt::format("{}-bw", prefix), fallback.bandwidth),
          read_time(spec, fmt::format("{}-lat", prefix), fallback.latency)};
}

std::vector<LinkSpeed> read_speeds(const Spec& spec, std::size_t dims, const LinkSpeed& usual) {
  const auto bandwidths = read_list(spec, "bw", to_string(usual.bandwidth), dims, parse_bandwidth);
  const auto latencies = read_list(spec, "lat", to_string(usual.latency), dims, parse_time);
  std::vector<LinkSpeed> speeds;
  for (std::size_t dim = 0; dim < dims; ++dim) speeds.push_back({bandwidths[dim], latencies[dim]});
  return speeds;
}

void check_size(const Spec& spec, std::uint64_t ranks, std::uint64_t links) {
  if (ranks > Spec::kMaxRanks) {
    spec.fail(fmt::format("dims: at most {} ranks, got {}", Spec::kMaxRanks, ranks));
  }
  if (links > kMaxLinks) spec.fail(fmt::format("dims: at most {} links, got {}", kMaxLinks, links));
}

}  // namespace multitree
