// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The walk's protocol in every order in which ranks can take their turns: small collectives, one
/// block a rank, each rank a fiber that stops before whatever others can see. All states that can
/// be reached are visited.
#include <gtest/gtest.h>
#include <ucontext.h>

#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "algorithms/registry.hpp"
#include "runtime/device/walk_steps_internal.hpp"
#include "support.hpp"
#include "topologies/registry.hpp"

namespace multitree::runtime::test {
namespace {

using device::Walk;
using device::WalkLane;
using device::WalkStep;

/// A rank of the model. Elements are 32 bits wide; the sum is the operator.
struct ModelRank {
  Plan plan;
  Program program;
  std::vector<std::uint32_t> input, data;
  std::vector<std::vector<WalkStep>> steps;  ///< by call
  std::vector<std::vector<WalkLane>> lanes;
  std::vector<std::byte> arena;  ///< counters of all seats, then places
  std::vector<std::uint64_t> passed;
  std::vector<std::byte> work;
  std::uint64_t work_bytes = 0;
  std::array<char, 64 * 1024> stack;
  ucontext_t fiber;
  const std::uint64_t* awaited = nullptr;
  std::uint64_t value = 0;
  std::uint32_t turns = 0;
  bool over = false;
};

/// What is wrong with the model's machine, to see that it would be found.
enum class Fault { None, IgnoresPlaces };

class Model {
 public:
  Model(const Schedule& schedule, std::size_t count, std::size_t segment, std::uint32_t calls,
        Fault fault = Fault::None)
      : schedule_(schedule), count_(count), calls_(calls), fault_(fault) {
    place_bytes_ = device::walk_place_bytes(segment, 1);
    for (std::uint32_t r = 0; r < schedule.ranks; ++r) {
      ranks_.push_back(std::make_unique<ModelRank>());
      ModelRank& rank = *ranks_.back();
      rank.plan = make_plan(schedule, Rank{r});
      rank.program = compile(rank.plan, schedule, chunk_ranges(schedule, count), {4, segment});
    }
    for (std::uint32_t r = 0; r < schedule.ranks; ++r) lay_out(r);
  }

  /// Words for the first fault that some order shows; "" if there is none.
  std::string explore() {
    std::vector<std::vector<std::uint8_t>> open{{}};
    std::unordered_set<std::string> seen;
    while (!open.empty()) {
      const std::vector<std::uint8_t> order = std::move(open.back());
      open.pop_back();
      replay(order);
      if (!seen.insert(state()).second) continue;
      ++states_;
      const std::vector<std::uint8_t> next = ready();
      if (next.empty()) {
        if (std::string words = verdict(); !words.empty()) return words;
      }
      for (const std::uint8_t r : next) {
        open.push_back(order);
        open.back().push_back(r);
      }
    }
    return "";
  }
  [[nodiscard]] std::size_t states() const { return states_; }

  // What a rank of the model does, a Machine.
  class Machine {
   public:
    Machine(Model& model, ModelRank& rank) : model_(model), rank_(rank) {}
    [[nodiscard]] std::uint32_t block() const { return 0; }
    bool wait(const std::uint64_t* counter, std::uint64_t value) {
      if (model_.fault_ == Fault::IgnoresPlaces && model_.is_credit(counter)) return true;
      rank_.awaited = counter;
      rank_.value = value;
      model_.stop(rank_);
      rank_.awaited = nullptr;
      return true;
    }
    void publish(std::uint64_t* counter, std::uint64_t value) {
      model_.stop(rank_);
      *counter = value;
    }
    void copy(std::byte* to, const std::byte* from, std::uint64_t bytes) {
      model_.stop(rank_);
      std::memcpy(to, from, bytes);
    }
    void reduce(std::byte* to, const std::byte* a, const std::byte* b, std::uint64_t bytes) {
      model_.stop(rank_);
      for (std::uint64_t i = 0; i < bytes; i += 4) {
        std::uint32_t x = 0, y = 0;
        std::memcpy(&x, a + i, 4);
        std::memcpy(&y, b + i, 4);
        x += y;
        std::memcpy(to + i, &x, 4);
      }
    }
    void mark(std::byte* place, std::uint64_t tag) {
      model_.stop(rank_);
      std::memcpy(place, &tag, sizeof tag);
    }
    std::uint64_t marked(const std::byte* place) {
      std::uint64_t tag = 0;
      std::memcpy(&tag, place, sizeof tag);
      return tag;
    }
    void divide(std::byte*, std::uint64_t, std::uint32_t) {}
    void keep(std::uint64_t* counter, std::uint64_t value) { *counter = value; }
    void report(std::uint32_t*, std::uint32_t lane) { model_.stranger_ = lane; }

   private:
    Model& model_;
    ModelRank& rank_;
  };

 private:
  [[nodiscard]] std::size_t places_bytes() const { return device::kWalkPlaces * place_bytes_; }
  std::byte* arrived(std::uint32_t owner, std::uint32_t from) {
    return ranks_[owner]->arena.data() + 2 * from * device::kWalkCounterStride;
  }
  std::byte* places(std::uint32_t owner, std::uint32_t from) {
    return ranks_[owner]->arena.data() + 2 * schedule_.ranks * device::kWalkCounterStride +
           from * places_bytes();
  }

  /// Of a reduce-scatter the shard, at the beginning of the output; of others all.
  [[nodiscard]] device::Extent result_of(std::uint32_t r) const {
    if (schedule_.collective != Collective::ReduceScatter) return {0, count_ * 4};
    const std::uint64_t shard = count_ / schedule_.ranks * 4;
    return {r * shard, (r + 1) * shard};
  }

  void lay_out(std::uint32_t r) {
    ModelRank& rank = *ranks_[r];
    for (const auto& other : ranks_) {
      other->arena.resize(schedule_.ranks * (2 * device::kWalkCounterStride + places_bytes()));
    }
    const auto word = [](std::byte* at) { return reinterpret_cast<std::uint64_t*>(at); };
    const device::WalkSteps list = device::walk_steps(rank.program, {result_of(r)}, 1);
    rank.work_bytes = list.work_bytes;
    rank.work.resize(list.work_bytes);
    rank.passed.resize(2 * schedule_.ranks);
    for (std::uint32_t call = 0; call < calls_; ++call) {
      std::vector<WalkLane> lanes;
      for (std::size_t l = 0; l < rank.plan.peers.size(); ++l) {
        const std::uint32_t peer = index(rank.plan.peers[l]);
        std::byte* const consumed = arrived(r, peer) + device::kWalkCounterStride;
        std::byte* const consumed_there = arrived(peer, r) + device::kWalkCounterStride;
        lanes.push_back({places(peer, r), word(arrived(peer, r)), word(consumed), places(r, peer),
                         word(arrived(r, peer)), word(consumed_there), &rank.passed[2 * peer],
                         list.sent[l], list.received[l], peer});
      }
      rank.steps.push_back(list.steps);
      rank.lanes.push_back(lanes);
    }
  }

  /// Begins anew and lets ranks take their turns in this order.
  void replay(const std::vector<std::uint8_t>& order) {
    stranger_ = 0;
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
      ModelRank& rank = *ranks_[r];
      std::fill(rank.arena.begin(), rank.arena.end(), std::byte{0});
      std::fill(rank.work.begin(), rank.work.end(), std::byte{0xee});
      std::fill(rank.passed.begin(), rank.passed.end(), 0);
      rank.input.assign(count_, 0);
      rank.data.assign(count_, 0xdeadU);
      for (std::size_t i = 0; i < count_; ++i) {
        rank.input[i] = static_cast<std::uint32_t>((r + 1) * 1000 + i);
      }
      rank.turns = 0;
      rank.over = false;
      rank.awaited = nullptr;
    }
    current_ = this;
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
      ModelRank& rank = *ranks_[r];
      getcontext(&rank.fiber);
      rank.fiber.uc_stack.ss_sp = rank.stack.data();
      rank.fiber.uc_stack.ss_size = rank.stack.size();
      rank.fiber.uc_link = &scheduler_;
      makecontext(&rank.fiber, reinterpret_cast<void (*)()>(&Model::enter), 1, static_cast<int>(r));
      swapcontext(&scheduler_, &rank.fiber);  // to its first stop
    }
    for (const std::uint8_t r : order) {
      ++ranks_[r]->turns;
      swapcontext(&scheduler_, &ranks_[r]->fiber);
    }
  }

  static void enter(int r) { current_->walk(*current_->ranks_[static_cast<std::size_t>(r)]); }

  void walk(ModelRank& rank) {
    Machine machine(*this, rank);
    for (std::uint32_t call = 0; call < calls_; ++call) {
      Walk walk;
      walk.steps = rank.steps[call].data();
      walk.lanes = rank.lanes[call].data();
      walk.step_count = static_cast<std::uint32_t>(rank.steps[call].size());
      walk.lane_count = static_cast<std::uint32_t>(rank.lanes[call].size());
      walk.blocks = 1;
      walk.place_bytes = place_bytes_;
      walk.tag = 77 + call;
      walk.input = reinterpret_cast<const std::byte*>(rank.input.data());
      walk.output = reinterpret_cast<std::byte*>(rank.data.data());
      walk.work = rank.work.data();
      walk.work_bytes = rank.work_bytes;
      device::Walker<Machine>(machine, walk).run();
    }
    rank.over = true;
  }

  /// Whether a counter says what a peer has consumed.
  [[nodiscard]] bool is_credit(const std::uint64_t* counter) const {
    for (const auto& rank : ranks_) {
      for (const auto& lanes : rank->lanes) {
        for (const WalkLane& lane : lanes) {
          if (lane.consumed == counter) return true;
        }
      }
    }
    return false;
  }

  void stop(ModelRank& rank) { swapcontext(&rank.fiber, &scheduler_); }

  [[nodiscard]] std::vector<std::uint8_t> ready() const {
    std::vector<std::uint8_t> list;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      const ModelRank& rank = *ranks_[r];
      const bool waits = rank.awaited != nullptr && *rank.awaited < rank.value;
      if (!rank.over && !waits) list.push_back(static_cast<std::uint8_t>(r));
    }
    return list;
  }

  [[nodiscard]] std::string state() const {
    std::string all;
    for (const auto& rank : ranks_) {
      all.append(reinterpret_cast<const char*>(rank->arena.data()), rank->arena.size());
      all.append(reinterpret_cast<const char*>(rank->data.data()), count_ * 4);
      all.append(reinterpret_cast<const char*>(rank->work.data()), rank->work.size());
      all.append(reinterpret_cast<const char*>(&rank->turns), sizeof rank->turns);
    }
    return all;
  }

  /// Of a state in which nobody can go on.
  [[nodiscard]] std::string verdict() const {
    if (stranger_ != 0) return "a message of another call";
    const auto ranks = static_cast<std::uint32_t>(ranks_.size());
    for (std::uint32_t r = 0; r < ranks; ++r) {
      if (!ranks_[r]->over) return "rank " + std::to_string(r) + " waits for ever";
      const device::Extent result = result_of(r);
      for (std::size_t i = result.begin / 4; i < result.end / 4; ++i) {
        const auto all = static_cast<std::uint32_t>(1000 * ranks * (ranks + 1) / 2 + ranks * i);
        const auto roots = static_cast<std::uint32_t>(1000 * (index(schedule_.root) + 1) + i);
        const bool sums = reduces(schedule_.collective);
        if (ranks_[r]->data[i - result.begin / 4] != (sums ? all : roots))
          return "rank " + std::to_string(r) + " has a wrong result";
      }
    }
    return "";
  }

  static inline Model* current_ = nullptr;
  const Schedule& schedule_;
  std::size_t count_;
  std::uint32_t calls_;
  Fault fault_;
  std::uint64_t place_bytes_ = 0;
  std::vector<std::unique_ptr<ModelRank>> ranks_;
  ucontext_t scheduler_;
  std::uint32_t stranger_ = 0;
  std::size_t states_ = 0;
};

class WalkModel : public ::testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "sanitizers do not know fibers";
#endif
  }
};

TEST_F(WalkModel, PlacesAreUsedAgainInEveryOrder) {
  // More segments than places, twice over.
  const Schedule schedule = ring_schedule(Collective::Broadcast, 2);
  Model model(schedule, 11, 4, 2);
  EXPECT_EQ(model.explore(), "");
  EXPECT_GT(model.states(), 500U);
}

TEST_F(WalkModel, ExchangesInEveryOrder) {
  const Schedule schedule = make_schedule("recursive-doubling", make_topology("full:2"));
  Model model(schedule, 3, 4, 2);
  EXPECT_EQ(model.explore(), "");
  EXPECT_GT(model.states(), 100U);
}

TEST_F(WalkModel, ARingOfThreeInEveryOrder) {
  const Schedule schedule = ring_schedule(Collective::AllReduce, 3);
  Model model(schedule, 6, 4, 2);
  EXPECT_EQ(model.explore(), "");
  EXPECT_GT(model.states(), 264U);  // of one segment and call
}

/// Partial sums lie in Work, which is used again.
TEST_F(WalkModel, AReduceScatterInEveryOrder) {
  const Schedule schedule = ring_schedule(Collective::ReduceScatter, 3);
  Model model(schedule, 6, 4, 2);
  EXPECT_EQ(model.explore(), "");
  EXPECT_GT(model.states(), 264U);
}

/// The model would see a sender that does not wait for its places.
TEST_F(WalkModel, FindsPlacesThatAreTakenTooEarly) {
  const Schedule schedule = ring_schedule(Collective::Broadcast, 2);
  Model model(schedule, 11, 4, 1, Fault::IgnoresPlaces);
  EXPECT_NE(model.explore(), "");
}

}  // namespace
}  // namespace multitree::runtime::test
