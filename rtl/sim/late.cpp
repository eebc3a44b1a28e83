// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Registers of sums that may lack contributions.
#include "rtl/sim/late.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "topologies/error.hpp"

namespace multitree::rtl {
namespace {

constexpr std::uint64_t kMostDeadline = (1U << 24) - 1;

}  // namespace

Bounds bounds_of(const nic::Losses& losses, std::uint32_t ranks) {
  if (losses.deadline > kMostDeadline) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("hardware model: expected a deadline of at most {} cycles, got {}",
                            kMostDeadline, losses.deadline));
  }
  return {.deadline = static_cast<std::uint32_t>(losses.deadline), .least = ranks - losses.budget};
}

std::vector<Ring> rings_of(const nic::Losses& losses, const std::vector<std::uint32_t>& doorbells,
                           std::uint32_t ranks) {
  std::vector<Ring> rings;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    if (doorbells.size() > 1) rings.push_back({0, r, 1U << doorbells.front()});
    rings.push_back({losses.ready.empty() ? 0 : losses.ready[r], r, 1U << doorbells.back()});
  }
  std::ranges::stable_sort(rings, {}, &Ring::cycle);
  return rings;
}

nic::LossReport report_of(const std::vector<Fate>& fates) {
  nic::LossReport report{.contributions = static_cast<std::uint32_t>(fates.size())};
  for (std::uint32_t r = 0; r < fates.size(); ++r) {
    if (fates[r].late) report.late.push_back(r);
    if (!fates[r].absent) continue;
    report.absent.push_back(r);
    --report.contributions;
  }
  return report;
}

std::string find_difference(const nic::LossReport& expected, const nic::Losses& losses,
                            const std::vector<Fate>& fates) {
  const auto ranks = static_cast<std::uint32_t>(fates.size());
  for (std::uint32_t r = 0; r < ranks; ++r) {
    const auto in = [r](const std::vector<std::uint32_t>& list) {
      return std::ranges::binary_search(list, r);
    };
    const Fate& got = fates[r];
    const auto found = ranks - static_cast<std::uint32_t>(expected.late.size());
    if (got.found == found && got.late == in(expected.late) && got.absent == in(expected.absent) &&
        !got.undecided && (!got.discarded || got.absent)) {
      continue;
    }
    return fmt::format(
        "rank {}, deadline {}: expected {} contributions by the roll call, {}late, "
        "{}absent, got {}, {}late, {}absent{}",
        r, losses.deadline, found, in(expected.late) ? "" : "not ",
        in(expected.absent) ? "" : "not ", got.found, got.late ? "" : "not ",
        got.absent ? "" : "not ", got.undecided ? ", undecided" : "");
  }
  return {};
}

void spoil(std::vector<std::byte>& buffer) {
  for (std::byte& byte : buffer) byte = ~byte ^ std::byte{0x15};
}

}  // namespace multitree::rtl
