// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Prices the most promising candidates first, which are those with few messages.
#include "algorithms/tuning/tune_alike.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "algorithms/tuning/candidates_internal.hpp"
#include "algorithms/tuning/parallel_internal.hpp"
#include "algorithms/tuning/size_ranges_internal.hpp"
#include "topologies/error.hpp"

namespace multitree {
namespace {

/// Trees of more chunks take longer to grow than they can gain.
constexpr std::uint64_t kMostTreeElements = 1U << 21;

}  // namespace

std::vector<std::string> alike_specs(const AlikeRanks& ranks, Collective collective) {
  std::vector<std::string> specs;
  std::string reason;
  const std::vector<Boxes> ladder = box_ladder(ranks, reason);
  if (collective == Collective::AllReduce) {
    for (const Boxes& boxes : ladder) {
      const std::uint32_t within = box_size(boxes);
      if (within < ranks.graph.size()) specs.push_back(fmt::format("symmetric?within={}", within));
    }
  }
  specs.emplace_back("symmetric");
  const std::uint32_t degree = ranks.graph.degree();
  if (degree > 1 && std::uint64_t{degree} * ranks.graph.size() <= kMostTreeElements) {
    specs.emplace_back("symmetric?chunks=degree");
  }
  try {
    static_cast<void>(AlikeCandidate(ranks, collective, "ring", Time{}));
    specs.emplace_back("ring");
  } catch (const Error&) {  // has no such ring
  }
  return specs;
}

AlikeTuneResult tune_alike(const AlikeRanks& ranks, Collective collective,
                           const AlikeTuneOptions& options) {
  if (options.first > options.last) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("sizes: expected a first size up to the last, {}, got {}", options.last,
                            options.first));
  }
  AlikeTuneResult result;
  result.sizes = grid_of(options.first, options.last, kGridFactor);
  for (const std::string& spec :
       options.algorithms.empty() ? alike_specs(ranks, collective) : options.algorithms) {
    result.candidates.push_back(
        std::make_unique<AlikeCandidate>(ranks, collective, spec, options.message_overhead));
  }
  auto& candidates = result.candidates;
  if (options.all_times) {
    in_parallel(candidates.size(), [&](std::size_t c) {
      for (const std::uint64_t size : result.sizes) static_cast<void>(candidates[c]->time(size));
    });
  }
  std::vector<std::size_t> order(candidates.size());
  for (std::size_t c = 0; c < order.size(); ++c) order[c] = c;
  std::ranges::stable_sort(order, {}, [&](std::size_t c) { return candidates[c]->floor(); });
  const auto fastest = [&](std::uint64_t bytes) {
    std::tuple<Time, std::uint64_t, std::size_t> least;
    bool any = false;
    for (const std::size_t c : order) {
      if (any && candidates[c]->floor() > std::get<Time>(least)) break;
      const Time time = candidates[c]->time(bytes);
      const auto one = std::tuple(time, candidates[c]->transfers(), c);
      if (any && least <= one) continue;
      least = one;
      any = true;
    }
    return std::get<2>(least);
  };
  SizeRanges ranges(
      fastest, [&](std::size_t c, std::uint64_t bytes) { return candidates[c]->time(bytes); },
      kCrossoverPrecision, kLeastGain);
  result.ranges = ranges.run(result.sizes);
  return result;
}

}  // namespace multitree
