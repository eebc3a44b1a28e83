// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Matrices of what ranks have for each other.
#include "algorithms/traffic/demand.hpp"
#include "fuzz.hpp"

using namespace multitree;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz::read(data, size, [](std::string_view text) {
    const Demand demand = parse_demand(text, fuzz::kFile, 4);
    fuzz::expect(demand.shard() > 0, "nothing to send");
  });
}
