// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Iterations as flows of packets.
#include "training/loss/traffic.hpp"

#include <fmt/format.h>

#include <random>

#include "topologies/error.hpp"

namespace multitree::training {
namespace {

using packets::Flow;

/// When each rank begins.
std::vector<Time> beginnings(const TrafficRequest& request) {
  std::mt19937_64 random(request.seed);
  std::vector<Time> times(request.ranks);
  for (Time& time : times) {
    const double part = static_cast<double>(random() >> 11U) * 0x1p-53;
    time.picoseconds =
        static_cast<std::int64_t>(part * static_cast<double>(request.jitter.picoseconds));
  }
  return times;
}

std::vector<Flow> incast(const TrafficRequest& request) {
  const std::vector<Time> begin = beginnings(request);
  std::vector<Flow> flows;
  for (std::uint32_t rank = 1; rank < request.ranks; ++rank) {
    Flow& flow = flows.emplace_back(request.like);
    flow.src = Rank{rank};
    flow.dst = Rank{0};
    flow.bytes = request.bytes;
    flow.ready = begin[rank];
  }
  return flows;
}

std::vector<Flow> server(const TrafficRequest& request) {
  std::vector<Flow> flows = incast(request);
  std::vector<std::uint32_t> pushes;
  for (std::uint32_t f = 0; f < flows.size(); ++f) pushes.push_back(f);
  for (const std::uint32_t push : pushes) {
    Flow pull = flows[push];
    std::swap(pull.src, pull.dst);
    pull.ready = {};
    pull.after = pushes;
    flows.push_back(pull);
  }
  return flows;
}

std::vector<Flow> ring(const TrafficRequest& request) {
  const std::uint32_t ranks = request.ranks;
  const std::vector<Time> begin = beginnings(request);
  std::vector<Flow> flows;
  for (std::uint32_t step = 0; step < 2 * (ranks - 1); ++step) {
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      Flow& flow = flows.emplace_back(request.like);
      flow.src = Rank{rank};
      flow.dst = Rank{(rank + 1) % ranks};
      // Pieces go round: rank r sends piece r - step.
      const std::uint64_t piece = (rank + 2 * ranks - step % ranks) % ranks;
      flow.bytes = request.bytes * (piece + 1) / ranks - request.bytes * piece / ranks;
      flow.ready = begin[rank];
      // A rank passes on what has come to it.
      if (step > 0) flow.after = {(step - 1) * ranks + (rank + ranks - 1) % ranks};
    }
  }
  return flows;
}

constexpr TrafficPattern kPatterns[] = {
    {"incast", "all ranks but the first send to it", incast},
    {"server", "the same, and it sends as much back to each", server},
    {"ring", "an all-reduce around a ring", ring},
};

}  // namespace

std::span<const TrafficPattern> traffic_patterns() { return kPatterns; }

const TrafficPattern& find_traffic_pattern(std::string_view name) {
  std::string names;
  for (const TrafficPattern& pattern : kPatterns) {
    if (pattern.name == name) return pattern;
    names += fmt::format(" {}", pattern.name);
  }
  throw Error(ErrorCode::InvalidArgument,
              fmt::format("no pattern of traffic '{}'; one of:{}", name, names));
}

packets::Flow dctcp_flow() { return {}; }

packets::Flow dlcp_flow(double budget, double droppable) {
  return {.sender = packets::Sender::BoundedLoss,
          .spread = packets::Spread::Spray,
          .budget = budget,
          .droppable = droppable};
}

}  // namespace multitree::training
