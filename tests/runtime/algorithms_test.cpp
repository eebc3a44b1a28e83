// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Every algorithm of the registry, executed: all collectives, on networks of all kinds.
#include <gtest/gtest.h>

#include "algorithms/registry.hpp"
#include "runtime/communicator.hpp"
#include "support.hpp"
#include "topologies/registry.hpp"

namespace multitree::runtime::test {
namespace {

class Algorithms : public ::testing::TestWithParam<std::string> {};

TEST_P(Algorithms, ExecuteToTheRightResult) {
  for (const char* spec :
       {"ring:5", "torus:2x4", "mesh:3x2", "full:3", "hypercube:3", "fattree:4x2", "bigraph:2x4"}) {
    SCOPED_TRACE(spec);
    const Topology topology = make_topology(spec);
    const std::string name = GetParam().substr(0, GetParam().find('?'));
    if (find_algorithm(name).unsupported(topology)) continue;
    const Rank root{topology.num_ranks() - 1};
    std::vector<Schedule> schedules;
    for (const Collective collective : all_collectives()) {
      schedules.push_back(
          make_schedule(GetParam(), topology, collective, has_root(collective) ? root : Rank{0}));
    }
    run_ranks(topology.num_ranks(), [&](const std::shared_ptr<Bootstrap>& bootstrap) {
      CommunicatorOptions options;
      options.transport = "loopback";
      options.segment_bytes = 512;
      Communicator communicator(bootstrap, schedules, options);
      for (const Collective collective : all_collectives()) {
        for (const std::size_t count : {0, 1, 7, 3001}) {
          for (const bool in_place : {false, true}) {
            check_collective(communicator, collective, root, count, DataType::Float32,
                             ReduceOp::Avg, in_place);
            check_collective(communicator, collective, root, count, DataType::Uint8, ReduceOp::Prod,
                             in_place);
          }
        }
      }
    });
  }
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const Algorithm& algorithm : algorithms()) all.emplace_back(algorithm.name);
  all.insert(all.end(), {"bine?variant=latency", "swing?variant=latency"});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Registry, Algorithms, ::testing::ValuesIn(names()), [](const auto& test) {
  std::string name = test.param;
  std::erase_if(name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; });
  return name;
});

}  // namespace
}  // namespace multitree::runtime::test
