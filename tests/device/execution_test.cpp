// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The executor of device memory by itself: with a transport that takes device memory, and where it
/// is tightest.
#include "runtime/device/execution_internal.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <cstring>
#include <list>
#include <random>
#include <stdexcept>

#include "algorithms/registry.hpp"
#include "device_support.hpp"
#include "fake_device.hpp"
#include "random_schedule.hpp"
#include "topologies/registry.hpp"

namespace multitree::runtime::test {
namespace {

using device::DeviceExecution;
using device::Route;

/// The loopback, taking the fake's memory as a CUDA-aware transport would: what is sent is read,
/// and what is received is written, some time before the completion and not at once.
class DeviceLoopback final : public Transport {
 public:
  DeviceLoopback(Bootstrap& bootstrap, const std::vector<Seat>& peers, std::uint64_t seed)
      : loopback_(make_transport("loopback", bootstrap, {peers, Deadline(5000)})), random_(seed) {}

  [[nodiscard]] bool takes_device_memory() const override { return true; }
  void send(Seat peer, std::uint64_t tag, const void* data, std::size_t bytes,
            Completion& completion) override {
    loopback_->send(peer, tag, data, bytes, completion);
  }
  void receive(Seat peer, std::uint64_t tag, void* data, std::size_t bytes,
               Completion& completion) override {
    loopback_->receive(peer, tag, data, bytes, completion);
  }
  void send_device(Seat peer, std::uint64_t tag, const void* data, std::size_t bytes,
                   Completion& completion) override {
    post({peer, tag, behind(data), nullptr, bytes, &completion});
  }
  void receive_device(Seat peer, std::uint64_t tag, void* data, std::size_t bytes,
                      Completion& completion) override {
    post({peer, tag, nullptr, behind(data), bytes, &completion});
    loopback_->receive(peer, tag, transfers_.back().bounce.data(), bytes, transfers_.back().inner);
  }
  bool progress() override {
    bool moved = loopback_->progress();
    for (auto it = transfers_.begin(); it != transfers_.end();) {
      moved |= step(*it);
      it = it->over ? transfers_.erase(it) : std::next(it);
    }
    return moved;
  }
  bool drain(Deadline deadline) override { return loopback_->drain(deadline); }
  void abort() override { loopback_->abort(); }
  [[nodiscard]] std::string describe() const override { return "device loopback"; }

 private:
  struct Transfer {
    Seat peer;
    std::uint64_t tag;
    const std::byte* from;
    std::byte* to;
    std::size_t bytes;
    Completion* completion;
    std::vector<std::byte> bounce{};
    Completion inner{};
    bool started = false, over = false;
  };
  void post(Transfer transfer) {
    if (transfer.from == nullptr && transfer.to == nullptr) {
      throw std::logic_error("host memory where device memory was said to be");
    }
    transfer.bounce.resize(transfer.bytes);
    transfer.completion->state = Completion::State::Pending;
    transfers_.push_back(std::move(transfer));
  }
  bool step(Transfer& t) {
    if (random_() % 3 != 0) return false;
    if (t.from != nullptr && !t.started) {
      t.started = true;
      std::memcpy(t.bounce.data(), t.from, t.bytes);
      loopback_->send(t.peer, t.tag, t.bounce.data(), t.bytes, t.inner);
      return true;
    }
    if (t.inner.state != Completion::State::Done) return false;
    if (t.to != nullptr) std::memcpy(t.to, t.bounce.data(), t.bytes);
    t.over = true;
    t.completion->complete();
    return true;
  }

  std::unique_ptr<Transport> loopback_;
  std::mt19937_64 random_;
  std::list<Transfer> transfers_;
};

/// Runs a program to its end on a fake, without the communicator around it.
void execute(const Program& program, Values& input, Values& data, Bootstrap& bootstrap,
             Transport& transport, Route route, std::uint64_t seed) {
  FakeOptions options{.seed = seed * 31 + index(bootstrap.seat())};
  const auto fake = make_fake_device(options);
  const std::size_t bytes = data.size() * size_of(data.type());
  const DeviceBuffer from(*fake, bytes), to(*fake, bytes);
  upload(*fake, from.data(), input.data(), bytes, nullptr);
  const std::vector all(bootstrap.size(), route);
  device::Workspace workspace(fake, {all, all, route == Route::Mapped});
  {
    DeviceExecution execution(program, {transport, workspace, 0, data.type(), ReduceOp::Sum});
    execution.start(from.data(), to.data(), {});
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!execution.done()) {
      const bool network = transport.progress(), device = workspace.poll();
      if (!execution.advance() && !network && !device) ::sched_yield();
      if (std::chrono::steady_clock::now() > end) throw std::runtime_error(execution.waiting_for());
    }
    execution.copy_untouched(0, bytes);
    download(*fake, data.data(), to.data(), bytes, workspace.compute.stream());
  }
  for (const auto* pool : {&workspace.pinned, &workspace.scratch, &workspace.shared}) {
    if (pool->taken() != 0) throw std::runtime_error("a block was not given back");
  }
  transport.drain(Deadline(1000));
  bootstrap.barrier(Deadline(60'000));
  workspace.mappings.clear();
  bootstrap.barrier(Deadline(60'000));
}

/// All-reduces with one send in flight and the fewest receive buffers.
void run_tight(const Schedule& schedule, Route route, std::uint64_t seed, bool tight) {
  constexpr std::size_t kCount = 12'000;  // pieces above the loopback's eager limit
  const auto ranges = chunk_ranges(schedule, kCount);
  run_ranks(schedule.ranks, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    const Plan plan = make_plan(schedule, rank_at(bootstrap->seat()));
    Program program = compile(plan, schedule, ranges, {8, tight ? 8800U : 1000U});
    if (tight) {
      program.scratch_blocks = std::max(plan.scratch_floor, 1U);
      program.sends_in_flight = 1;
    }
    DeviceLoopback transport(*bootstrap, plan.peers, seed + index(bootstrap->seat()));
    Values input_values(DataType::Int64, kCount), data(DataType::Int64, kCount);
    for (std::size_t i = 0; i < kCount; ++i) {
      input_values.set(i, input(ReduceOp::Sum, index(bootstrap->seat()), i));
    }
    execute(program, input_values, data, *bootstrap, transport, route, seed);
    for (std::size_t i = 0; i < kCount; ++i) {
      if (data.get(i) != expected(DataType::Int64, ReduceOp::Sum, schedule.ranks, i)) {
        throw std::runtime_error("wrong sum");
      }
    }
  });
}

class EveryRoute : public ::testing::TestWithParam<Route> {};

TEST_P(EveryRoute, DoesNotDeadlockWithTheFewestBuffers) {
  for (const Algorithm& algorithm : algorithms()) {
    const Topology topology = make_topology("torus:2x3");
    if (algorithm.unsupported(topology)) continue;
    run_tight(make_schedule(algorithm.name, topology), GetParam(), 1, true);
  }
}

TEST_P(EveryRoute, RunsOddSchedules) {
  for (std::uint32_t seed = 0; seed < 10; ++seed) {
    const Topology topology = make_topology("full:" + std::to_string(2 + seed % 4));
    const Schedule schedule = random_schedule(Collective::AllReduce, topology, Rank{0}, seed);
    run_tight(schedule, GetParam(), seed, seed % 2 == 0);
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryRoute,
                         ::testing::Values(Route::Staged, Route::Direct, Route::Mapped));

/// A node with children in a row reads them in one pass; a send between them parts them.
TEST(DeviceExecutionGroups, JoinReductionsWithoutASendBetween) {
  Schedule schedule;
  schedule.ranks = 12;
  schedule.chunks = {Chunk::rooted(Rank{0}, 0, 1)};
  for (std::uint32_t leaf = 1; leaf < 12; ++leaf) {
    schedule.add(leaf, Op::Reduce, 0, Rank{leaf}, Rank{0}, {});
  }
  for (std::uint32_t leaf = 1; leaf < 12; ++leaf) {
    schedule.add(12 + leaf, Op::Copy, 0, Rank{0}, Rank{leaf}, {});
  }
  schedule.canonicalize();
  run_tight(schedule, Route::Staged, 1, true);
  run_tight(schedule, Route::Mapped, 2, true);
}

}  // namespace
}  // namespace multitree::runtime::test
