// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Collectives over threads: every collective, type, operator, size and way of passing buffers.
#include "runtime/communicator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "support.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime::test {
namespace {

using ::testing::HasSubstr;

CommunicatorOptions loopback(std::size_t segment_bytes = 1024) {
  CommunicatorOptions options;
  options.transport = "loopback";
  options.segment_bytes = segment_bytes;
  return options;
}

class RingOfRanks : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(RingOfRanks, EveryCollectiveTypeOperatorAndSize) {
  const std::uint32_t n = GetParam();
  const Rank root{n / 2};
  run_ranks(n, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    Communicator communicator(bootstrap, ring_schedules(n, root), loopback());
    for (const Collective collective : all_collectives()) {
      for (const DataType type : all_data_types()) {
        for (const ReduceOp op : all_reduce_ops()) {
          for (const std::size_t count : {0, 1, 3, 17, 1001, 5003}) {
            check_collective(communicator, collective, root, count, type, op, false);
            check_collective(communicator, collective, root, count, type, op, true);
          }
        }
      }
    }
  });
}

TEST_P(RingOfRanks, LargeMessagesInManySegments) {
  const std::uint32_t n = GetParam();
  run_ranks(n, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    for (const std::size_t segment : {1UL, 16384UL, 1UL << 22}) {
      Communicator communicator(bootstrap, ring_schedules(n), loopback(segment));
      const std::size_t count = segment == 1 ? 1000 : 200'003;
      for (const Collective collective : all_collectives()) {
        check_collective(communicator, collective, Rank{0}, count, DataType::Float32, ReduceOp::Sum,
                         false);
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, RingOfRanks, ::testing::Range(1U, 9U));

}  // namespace
}  // namespace multitree::runtime::test
