// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Asks interfaces, engines and network in turn.
#include "nic/machine/standstill_internal.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace multitree::nic {

std::string describe_standstill(Cycle now, std::span<const std::uint64_t> flits_left,
                                const Endpoints& endpoints, const ReceiveEngines* engines,
                                const Fabric& fabric) {
  std::string what;
  const auto lost = std::ranges::find_if(flits_left, [](std::uint64_t left) { return left != 0; });
  if (lost != flits_left.end()) {
    const auto message = static_cast<std::uint32_t>(lost - flits_left.begin());
    what = fmt::format("{} flits of the {} have not arrived; ", *lost, endpoints.describe(message));
  }
  const std::string waits = endpoints.who_waits();
  if (!waits.empty()) what += waits + "; ";
  const std::string adds = engines != nullptr ? engines->who_waits() : "";
  if (!adds.empty()) what += adds + "; ";
  return fmt::format("cycle {}: nothing moves, and {} messages are missing; {}network: {}", now,
                     endpoints.left(), what, fabric.describe_blockage());
}

}  // namespace multitree::nic
