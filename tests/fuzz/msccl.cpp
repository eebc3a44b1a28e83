// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// MSCCL's programs, for two and for four ranks.
#include "algorithms/interchange/interchange.hpp"
#include "algorithms/verify.hpp"
#include "fuzz.hpp"
#include "topologies/registry.hpp"

using namespace multitree;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Topology networks[] = {make_topology("full:2"), make_topology("ring:4")};
  for (const Topology& network : networks) {
    fuzz::read(data, size, [&](std::string_view text) {
      const Schedule schedule = parse_msccl_xml(text, fuzz::kFile, network);
      fuzz::expect(verify(schedule, network).ok(), "a schedule that does not verify");
    });
  }
  return 0;
}
