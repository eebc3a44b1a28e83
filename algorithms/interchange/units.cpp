// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Common units of chunks of different weights.
#include "algorithms/interchange/units_internal.hpp"

#include <fmt/format.h>

#include <numeric>

#include "topologies/error.hpp"

namespace multitree::interchange {
namespace {

constexpr std::uint64_t kMaxUnits = std::uint64_t{1} << 30;

[[noreturn]] void fail_too_many() {
  throw Error(
      ErrorCode::Unsupported,
      fmt::format("expected chunks whose weights have a common unit of at least 1/{} of the "
                  "buffer, got none",
                  kMaxUnits));
}

/// a * b, refused where no layout could be so fine.
std::uint64_t product(std::uint64_t a, std::uint64_t b) {
  if (b != 0 && a > kMaxUnits / b) fail_too_many();
  return a * b;
}

/// Sum of the weights of the chunks of each share of the buffer that has its own weights: each
/// rank's shard, or the whole.
std::vector<std::uint64_t> share_weights(const Schedule& schedule, bool shards) {
  std::vector<std::uint64_t> sums(shards ? schedule.ranks : 1, 0);
  for (const Chunk& chunk : schedule.chunks) {
    sums[shards ? index(shard_of(schedule.collective, chunk)) : 0] += chunk.weight;
  }
  return sums;
}

}  // namespace

bool has_program(Collective collective) {
  return collective != Collective::AllToAll && (!is_sharded(collective) || !has_root(collective));
}

UnitLayout unit_layout(const Schedule& schedule) {
  if (!has_program(schedule.collective)) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("expected a collective that the format has, got {}",
                            to_string(schedule.collective)));
  }
  const bool shards = is_sharded(schedule.collective);
  const std::vector<std::uint64_t> sums = share_weights(schedule, shards);
  const auto share_of = [&](const Chunk& chunk) {
    return shards ? index(shard_of(schedule.collective, chunk)) : 0;
  };
  std::uint64_t common = 1;  // units of a share
  for (const std::uint64_t sum : sums) {
    common = product(common, sum / std::gcd(common, sum));
  }
  std::vector<std::uint64_t> counts;
  std::uint64_t divisor = common;
  for (const Chunk& chunk : schedule.chunks) {
    counts.push_back(product(chunk.weight, common / sums[share_of(chunk)]));
    divisor = std::gcd(divisor, counts.back());
  }
  const std::uint64_t share = common / divisor;
  UnitLayout layout;
  layout.total = static_cast<std::uint32_t>(product(share, sums.size()));
  layout.shard = shards ? static_cast<std::uint32_t>(share) : 0;
  std::vector<std::uint64_t> used(sums.size(), 0);
  for (std::size_t c = 0; c < counts.size(); ++c) {
    const std::uint32_t s = share_of(schedule.chunks[c]);
    layout.offset.push_back(static_cast<std::uint32_t>(s * share + used[s]));
    layout.count.push_back(static_cast<std::uint32_t>(counts[c] / divisor));
    used[s] += layout.count.back();
  }
  return layout;
}

}  // namespace multitree::interchange
