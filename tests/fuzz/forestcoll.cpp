// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// ForestColl's trees, as each of the collectives that they can be.
#include "algorithms/interchange/interchange.hpp"
#include "fuzz.hpp"
#include "topologies/registry.hpp"

using namespace multitree;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Topology networks[] = {make_topology("full:2"), make_topology("ring:4")};
  for (const Topology& network : networks) {
    for (const Collective collective :
         {Collective::AllGather, Collective::ReduceScatter, Collective::AllReduce}) {
      fuzz::read(data, size, [&](std::string_view text) {
        static_cast<void>(
            parse_forestcoll_xml(text, fuzz::kFile, network, {.collective = collective}));
      });
    }
  }
  return 0;
}
