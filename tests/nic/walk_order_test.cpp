// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// One schedule, many executors: what a device walks is what the image of the tables says.
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "algorithms/collective.hpp"
#include "algorithms/registry.hpp"
#include "matrix.hpp"
#include "nic/encode/image.hpp"
#include "nic/table/check.hpp"
#include "nic/table/table.hpp"
#include "runtime/device/walk_steps_internal.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

constexpr std::uint32_t kBlocks = 3;
constexpr runtime::ProgramShape kShape{.element_bytes = 4, .segment_bytes = 256};

/// A rank's list, and whom its lanes lead to.
struct List {
  std::vector<runtime::Seat> peers;
  runtime::device::WalkSteps walk;
  std::uint64_t slot_bytes = 0;  ///< of a piece in Work
};

List list_of(const Schedule& schedule, std::uint64_t elements, Rank rank) {
  const runtime::Plan plan = runtime::make_plan(schedule, rank);
  const runtime::Program program =
      runtime::compile(plan, schedule, chunk_ranges(schedule, elements), kShape);
  runtime::device::WalkShape shape{{0, elements * 4}};
  if (receives_shard(schedule.collective)) {
    const std::uint64_t shard = elements / schedule.ranks * 4;
    shape.result = {index(rank) * shard, (index(rank) + 1) * shard};
  }
  std::uint64_t longest = 0;
  for (const auto& piece : program.pieces) longest = std::max(longest, piece.bytes);
  return {plan.peers, runtime::device::walk_steps(program, shape, kBlocks),
          runtime::device::walk_slice_bytes(longest, kBlocks)};
}

/// In Work the number of the slot: how long they are depends on pieces that may not be sent.
std::uint64_t place_of(const runtime::device::WalkSpot& spot, std::uint64_t slot_bytes) {
  return spot.memory == runtime::device::WalkMemory::Work ? spot.offset / slot_bytes : spot.offset;
}

auto fields_of(const List& list, std::size_t i) {
  const runtime::device::WalkStep& s = list.walk.steps[i];
  return std::tuple(s.action, s.lane, s.number, s.bytes, s.skew, place_of(s.from, list.slot_bytes),
                    s.from.memory, place_of(s.to, list.slot_bytes), s.to.memory);
}

/// Takes out what is kept as it came: how many bytes. Elements that no entry sends are whole shards
/// to the image, whatever their chunks were.
std::uint64_t take_kept(List& list) {
  std::uint64_t bytes = 0;
  std::erase_if(list.walk.steps, [&](const runtime::device::WalkStep& step) {
    if (step.action != runtime::device::WalkAction::Keep) return false;
    bytes += step.bytes;
    return true;
  });
  return bytes;
}

/// The same messages in the same order, sums of the same operands into the same places.
void expect_same(List image, List program, const std::string& what) {
  ASSERT_EQ(take_kept(image), take_kept(program)) << what;
  ASSERT_EQ(image.peers, program.peers) << what;
  ASSERT_EQ(image.walk.steps.size(), program.walk.steps.size()) << what;
  for (std::size_t i = 0; i < program.walk.steps.size(); ++i) {
    ASSERT_EQ(fields_of(image, i), fields_of(program, i)) << what << ", step " << i;
  }
  ASSERT_EQ(image.walk.sent, program.walk.sent) << what;
  ASSERT_EQ(image.walk.received, program.walk.received) << what;
  ASSERT_EQ(image.walk.work_bytes / image.slot_bytes, program.walk.work_bytes / program.slot_bytes)
      << what;
}

class WalkOrder : public testing::TestWithParam<const char*> {};

TEST_P(WalkOrder, WhatADeviceWalksIsTheImage) {
  const Topology topology = make_topology(GetParam());
  std::size_t compared = 0;
  for (const Collective collective : all_collectives()) {
    for (const Schedule& schedule : test::all_schedules(topology, collective)) {
      const std::uint64_t elements = std::uint64_t{schedule.ranks} * 720;
      const std::string what = schedule.algorithm + " " + std::string(to_string(collective));
      const nic::Tables tables = nic::compile_tables(schedule, topology, {.elements = elements});
      const Schedule read =
          nic::schedule_of(nic::read_image(nic::write_image(tables), "image"), topology);
      for (std::uint32_t r = 0; r < schedule.ranks; ++r) {
        expect_same(list_of(read, elements, Rank{r}), list_of(schedule, elements, Rank{r}),
                    what + ", rank " + std::to_string(r));
      }
      if (HasFatalFailure()) return;
      ++compared;
    }
  }
  EXPECT_GT(compared, 10U);
}

INSTANTIATE_TEST_SUITE_P(Networks, WalkOrder, testing::ValuesIn(test::kNetworks));

TEST(WalkOrder, AnImageWithOtherSumsIsAnotherList) {
  const Topology topology = make_topology("star:5");
  const Schedule schedule = make_schedule("multitree", topology);
  const nic::Tables tables = nic::compile_tables(schedule, topology, {.elements = 3600});
  // Somebody sends his sum a step later than he should: it is no longer an all-reduce, or not in
  // its order.
  nic::Tables late = tables;
  for (nic::Entry& entry : late.of_rank[1]) {
    if (entry.op == nic::Opcode::Reduce) ++entry.step;
  }
  EXPECT_THROW(nic::schedule_of(late, topology), Error);
  nic::Tables turned = tables;
  turned.of_rank[1].front().turn += 1;
  EXPECT_THROW(nic::schedule_of(turned, topology), Error);
  EXPECT_THROW(nic::schedule_of(tables, make_topology("star:6")), Error);
  const nic::GroupSource group{.schedule = &schedule, .elements = 3600};
  EXPECT_THROW(nic::schedule_of(nic::compile_groups({&group, 1}, topology), topology), Error);
}

}  // namespace
}  // namespace multitree
