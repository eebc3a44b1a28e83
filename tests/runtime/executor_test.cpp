// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Programs, and the executor where it is tightest: one send in flight, the fewest receive buffers.
#include "runtime/execution/executor_internal.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "algorithms/coalesced.hpp"
#include "algorithms/registry.hpp"
#include "random_schedule.hpp"
#include "runtime/execution/merge_internal.hpp"
#include "runtime/execution/program_internal.hpp"
#include "runtime/execution/programs_internal.hpp"
#include "support.hpp"
#include "topologies/registry.hpp"

namespace multitree::runtime::test {
namespace {

TEST(Program, CutsChunksIntoEvenSegmentsThatCoverThem) {
  const Schedule schedule = ring_schedule(Collective::AllReduce, 3);
  const auto ranges = chunk_ranges(schedule, 1000);
  const Plan plan = make_plan(schedule, Rank{1});
  const Program program = compile(plan, schedule, ranges, {4, 256});
  std::vector<std::uint64_t> covered(plan.transfers.size());
  for (const Task& task : program.tasks) {
    EXPECT_LE(task.bytes, 256U);
    EXPECT_GE(task.bytes, 200U);  // 333 elements in 6 pieces
    covered[task.transfer] += task.bytes;
  }
  for (std::size_t t = 0; t < covered.size(); ++t) {
    EXPECT_EQ(covered[t], ranges[plan.transfers[t].chunk].count * 4);
  }
}

TEST(Program, OrdersTasksByWavefrontAndSlotsBySchedule) {
  const Schedule schedule = ring_schedule(Collective::AllReduce, 4);
  const Plan plan = make_plan(schedule, Rank{2});
  const Program program = compile(plan, schedule, chunk_ranges(schedule, 4096), {4, 512});
  const auto wavefront = [&](std::uint32_t id) {
    return plan.transfers[program.tasks[id].transfer].step + program.tasks[id].segment;
  };
  for (std::uint32_t id = 1; id < program.tasks.size(); ++id) {
    EXPECT_LE(wavefront(id - 1), wavefront(id));
  }
  for (std::size_t slot = 0; slot + 1 < program.slot_begin.size(); ++slot) {
    for (std::uint32_t i = program.slot_begin[slot] + 1; i < program.slot_begin[slot + 1]; ++i) {
      EXPECT_LT(program.tasks[program.slot_tasks[i - 1]].transfer,
                program.tasks[program.slot_tasks[i]].transfer);
    }
  }
}

TEST(Program, BothEndsAgreeOnEveryMessage) {
  const Schedule schedule = ring_schedule(Collective::AllReduce, 4);
  const auto ranges = chunk_ranges(schedule, 5000);
  std::set<std::pair<std::uint32_t, std::uint64_t>> sent, received;  // number, bytes
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    const Plan plan = make_plan(schedule, Rank{rank});
    for (const Task& task : compile(plan, schedule, ranges, {8, 1024}).tasks) {
      const bool send = plan.transfers[task.transfer].action == Action::Send;
      EXPECT_TRUE((send ? sent : received).emplace(task.message, task.bytes).second);
    }
  }
  EXPECT_EQ(sent, received);
}

TEST(Program, SegmentsGrowUntilMessageNumbersFit) {
  // 2^20 transfers leave 12 bits for the segment.
  Schedule schedule = ring_schedule(Collective::AllReduce, 3);
  schedule.transfers.clear();
  for (std::uint32_t t = 0; t < (1U << 20) - 1; ++t) {
    schedule.transfers.push_back({t, Op::Copy, 1, Rank{1}, Rank{2}});
  }
  schedule.transfers.push_back({1U << 20, Op::Copy, 0, Rank{1}, Rank{0}});
  const Plan plan = make_plan(schedule, Rank{0});
  const Program program = compile(plan, schedule, chunk_ranges(schedule, 3'000'000), {1, 1});
  EXPECT_GT(program.tasks.size(), 4000U);
  EXPECT_LE(program.tasks.size(), 4096U);
  std::set<std::uint32_t> numbers;
  for (const Task& task : program.tasks) numbers.insert(task.message);
  EXPECT_EQ(numbers.size(), program.tasks.size());
}

/// Runs a program to its end, without the communicator around it.
void execute(const Program& program, Values& data, Bootstrap& bootstrap, Transport& transport) {
  ScratchPool pool;
  Outbox outbox({.window_bytes = 1, .window_messages = 1});
  Execution execution(program, data.data(), data.data(),
                      {transport, outbox, pool, 0, data.type(), ReduceOp::Sum});
  execution.start();
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!execution.done()) {
    if (!transport.progress() && !execution.advance()) ::sched_yield();
    execution.advance();
    if (std::chrono::steady_clock::now() > end) throw std::runtime_error(execution.waiting_for());
  }
  transport.drain(Deadline(1000));
  bootstrap.barrier(Deadline(30'000));
}

/// All-reduces with one send in flight and the fewest receive buffers. `together`: most bytes of a
/// message of several chunks, which then are not cut.
void run_tight(const Schedule& schedule, std::size_t together = 0) {
  // Messages above the loopback's eager limit: a send ends only when its receive is posted.
  constexpr std::size_t kCount = 100'000;
  const auto ranges = chunk_ranges(schedule, kCount);
  const auto levels = together == 0 ? std::vector<std::uint32_t>() : levels_of(schedule);
  run_ranks(schedule.ranks, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    const Plan plan = make_plan(schedule, rank_at(bootstrap->seat()), false, levels);
    Program program = compile(plan, schedule, ranges,
                              {.element_bytes = 8,
                               .segment_bytes = together == 0 ? 16384 : 8 * kCount,
                               .bundle_bytes = together});
    EXPECT_EQ(program.bundles.empty(), together == 0);
    program.scratch_blocks = std::max(program.scratch_floor, 1U);
    const auto transport = make_transport("loopback", *bootstrap, {plan.peers, Deadline(5000)});
    Values data(DataType::Int64, kCount);
    for (std::size_t i = 0; i < kCount; ++i) {
      data.set(i, input(ReduceOp::Sum, index(bootstrap->seat()), i));
    }
    execute(program, data, *bootstrap, *transport);
    for (std::size_t i = 0; i < kCount; i += 7) {
      if (data.get(i) != expected(DataType::Int64, ReduceOp::Sum, schedule.ranks, i)) {
        throw std::runtime_error("wrong sum");
      }
    }
  });
}

/// Each rank's sum of floats that do not add up exactly, one after the other. `together`: as above.
std::vector<std::vector<float>> sums_of(const Schedule& schedule, std::size_t count,
                                        std::size_t together = 0) {
  std::vector<std::vector<float>> sums(schedule.ranks);
  const auto levels = together == 0 ? std::vector<std::uint32_t>() : levels_of(schedule);
  run_ranks(schedule.ranks, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    const Plan plan = make_plan(schedule, rank_at(bootstrap->seat()), false, levels);
    const Program program =
        compile(plan, schedule, chunk_ranges(schedule, count),
                {.element_bytes = 4, .segment_bytes = 4096, .bundle_bytes = together});
    EXPECT_EQ(program.bundles.empty(), together == 0);
    const auto transport = make_transport("loopback", *bootstrap, {plan.peers, Deadline(5000)});
    Values data(DataType::Float32, count);
    auto* values = reinterpret_cast<float*>(data.data());
    for (std::size_t i = 0; i < count; ++i) {
      values[i] = 1.0F / static_cast<float>(1 + i * 7 + index(bootstrap->seat()) * 1009);
    }
    execute(program, data, *bootstrap, *transport);
    sums[index(bootstrap->seat())].assign(values, values + count);
  });
  return sums;
}

/// The messages that a rank sends.
std::size_t messages_of(const Schedule& schedule, std::size_t together) {
  const Plan plan = make_plan(schedule, Rank{0}, false, levels_of(schedule));
  const Program program =
      compile(plan, schedule, chunk_ranges(schedule, 4096),
              {.element_bytes = 4, .segment_bytes = 65536, .bundle_bytes = together});
  std::size_t messages = 0;
  for (std::uint32_t id = 0; id < program.tasks.size(); ++id) {
    const bool sends = plan.transfers[program.tasks[id].transfer].action == Action::Send;
    messages += sends && program.first_of(id) == id ? 1 : 0;
  }
  return messages;
}

TEST(Coalesce, WhatOneRankSendsToAnotherInARoundIsOneMessage) {
  // 4 parts of 4 rounds that halve and 4 that double, where each chunk by itself takes 2 x 15.
  const Schedule schedule = make_schedule("swing?rounds=1", make_topology("torus:4x4"));
  EXPECT_EQ(schedule.coalesces, 131072);
  EXPECT_EQ(messages_of(schedule, 0), 4 * 2 * 15);
  EXPECT_EQ(messages_of(schedule, 65536), 4 * 2 * 4);
  // A vector of 16 KiB has 64 chunks of 256 bytes: up to 512 bytes, 8 travel as 4 and 4 as 2.
  EXPECT_EQ(messages_of(schedule, 512), 4 * 2 * (4 + 2 + 1 + 1));
  EXPECT_EQ(messages_of(make_schedule("swing?rounds=1&parts=one", make_topology("ring:8")), 65536),
            6);
}

TEST(Coalesce, SumsAreTheSame) {
  for (const char* spec :
       {"swing?rounds=1", "circulant?radix=3", "bine", "halving-doubling", "multitree", "ring2d"}) {
    const Schedule schedule = make_schedule(spec, make_topology("torus:4x4"));
    EXPECT_EQ(sums_of(schedule, 5000, 4096), sums_of(schedule, 5000)) << spec;
    EXPECT_EQ(sums_of(schedule, 37, 40), sums_of(schedule, 37)) << spec;
  }
}

TEST(Coalesce, NeedsNoMoreThanTheFewestBuffers) {
  for (const char* spec : {"swing?rounds=1", "bine", "multitree", "allreduce-optimal", "ring2d"}) {
    run_tight(make_schedule(spec, make_topology("torus:4x4")), 400'000);
  }
}

TEST(Coalesce, AllSizesShareOneSchedule) {
  std::vector<SizedSchedules> plans{
      for_all_sizes(make_schedule("swing?rounds=1", make_topology("torus:2x2")))};
  Programs programs(PlansBySize(std::move(plans)), Rank{0}, 4);
  const Programs::Cut cut{.segment_bytes = 65536, .window_bytes = 65536, .coalesce = true};
  Call call{.collective = Collective::AllReduce, .count = 100};
  const auto one = programs.program_for(call, Rank{0}, cut);
  call.count = 200;
  const auto other = programs.program_for(call, Rank{0}, cut);
  EXPECT_FALSE(one->program.bundles.empty());
  EXPECT_EQ(one->source, other->source);
  EXPECT_NE(one->digest, other->digest);
}

TEST(Merge, MakesFewerMessagesOfTheSameSums) {
  constexpr std::size_t kCount = 5000;
  for (const char* spec : {"mesh:3x3", "torus:3x3?without=0-1"}) {
    const Schedule schedule = make_schedule("allreduce-optimal", make_topology(spec));
    const auto ranges = chunk_ranges(schedule, kCount);
    const auto merged = merge_chunks(schedule, ranges, 4, 1024);
    ASSERT_TRUE(merged.has_value()) << spec;
    EXPECT_LT(merged->chunks.size() * 2, schedule.chunks.size()) << spec;
    EXPECT_EQ(sums_of(*merged, kCount), sums_of(schedule, kCount)) << spec;
  }
}

/// Whatever the order in which links serve them: small vectors take a message a tree and hop.
TEST(Merge, MakesOneChunkOfEachTreeOfASmallVector) {
  const Schedule schedule =
      make_schedule("allreduce-optimal", make_topology("torus:4x4?without=0-1"));
  std::set<std::uint32_t> trees;
  for (const Chunk& chunk : schedule.chunks) trees.insert(chunk.tree);
  ASSERT_LT(trees.size() * 10, schedule.chunks.size());
  const auto merged = merge_chunks(schedule, chunk_ranges(schedule, 16384), 4, 16384);
  ASSERT_TRUE(merged.has_value());
  EXPECT_EQ(merged->chunks.size(), trees.size());
}

TEST(Merge, LeavesMessagesThatAreLargeEnough) {
  const Schedule schedule = make_schedule("allreduce-optimal", make_topology("mesh:3x3"));
  EXPECT_FALSE(merge_chunks(schedule, chunk_ranges(schedule, 5000), 4, 1).has_value());
}

TEST(Merge, LeavesChunksThatTravelInDifferentWays) {
  Schedule schedule = ring_schedule(Collective::AllReduce, 4);
  for (Chunk& chunk : schedule.chunks) chunk = Chunk::rooted(Rank{0}, 0, 1);
  EXPECT_FALSE(merge_chunks(schedule, chunk_ranges(schedule, 100), 4, 1 << 20).has_value());
}

TEST(Executor, DoesNotDeadlockWithTheFewestBuffers) {
  for (const Algorithm& algorithm : algorithms()) {
    const Topology topology = make_topology("torus:2x4");
    if (algorithm.unsupported(topology)) continue;
    run_tight(make_schedule(algorithm.name, topology));
  }
}

/// Takes all messages at once, and keeps them until it is told to pass them on, peer by peer.
class LazyWire final : public Transport {
 public:
  void send(Seat, std::uint64_t, const void*, std::size_t, Completion& completion) override {
    completion.complete();
  }
  void receive(Seat, std::uint64_t, void*, std::size_t, Completion&) override {
    throw std::logic_error("nothing is to be received");
  }
  bool progress() override { return false; }
  void flush(Seat peer, Completion& completion) override {
    peers.push_back(peer);
    asked.push_back(&completion);
  }
  bool drain(Deadline) override { return true; }
  void abort() override {}
  [[nodiscard]] std::string describe() const override { return "lazy wire"; }

  std::vector<Seat> peers;  ///< whose messages somebody waits for
  std::vector<Completion*> asked;
};

TEST(Executor, IsNotDoneBeforeItsMessagesHaveLeft) {
  Schedule schedule = ring_schedule(Collective::AllReduce, 2);
  schedule.transfers = {{0, Op::Copy, 0, Rank{0}, Rank{1}}};
  const Plan plan = make_plan(schedule, Rank{0});
  const Program program = compile(plan, schedule, chunk_ranges(schedule, 100), {8, 1024});
  LazyWire wire;
  Outbox outbox(wire.limits());
  ScratchPool pool;
  Values data(DataType::Int64, 100);
  Execution execution(program, data.data(), data.data(),
                      {wire, outbox, pool, 0, data.type(), ReduceOp::Sum});
  execution.start();
  EXPECT_TRUE(execution.advance());
  EXPECT_FALSE(execution.advance());
  EXPECT_FALSE(execution.done());
  EXPECT_EQ(execution.waiting_for(), "waiting for the last messages to leave");
  ASSERT_EQ(wire.asked.size(), 1U);
  wire.asked.front()->complete();
  EXPECT_TRUE(execution.done());
}

/// Another collective's messages to other ranks are nobody's wait but its own.
TEST(Executor, WaitsForItsOwnMessagesAlone) {
  LazyWire wire;
  Outbox outbox(wire.limits());
  ScratchPool pool;
  Values data(DataType::Int64, 100);
  Schedule schedule = ring_schedule(Collective::AllReduce, 3);
  std::vector<std::unique_ptr<Execution>> executions;
  std::vector<Plan> plans;
  std::vector<Program> programs;
  plans.reserve(2);
  programs.reserve(2);
  for (const std::uint32_t peer : {1, 2}) {
    schedule.transfers = {{0, Op::Copy, 0, Rank{0}, Rank{peer}}};
    plans.push_back(make_plan(schedule, Rank{0}));
    programs.push_back(compile(plans.back(), schedule, chunk_ranges(schedule, 100), {8, 1024}));
    executions.push_back(std::make_unique<Execution>(
        programs.back(), data.data(), data.data(),
        Execution::Context{wire, outbox, pool, peer, data.type(), ReduceOp::Sum}));
    executions.back()->start();
    EXPECT_TRUE(executions.back()->advance());
  }
  EXPECT_EQ(wire.peers, seats_at(1, 2));
  wire.asked.back()->complete();
  EXPECT_FALSE(executions.front()->done());
  EXPECT_TRUE(executions.back()->done());
  wire.asked.front()->complete();
  EXPECT_TRUE(executions.front()->done());
}

TEST(Executor, DoesNotDeadlockOnOddSchedules) {
  for (std::uint32_t seed = 0; seed < 12; ++seed) {
    const Topology topology = make_topology("full:" + std::to_string(2 + seed % 6));
    run_tight(random_schedule(Collective::AllReduce, topology, Rank{0}, seed));
  }
}

}  // namespace
}  // namespace multitree::runtime::test
