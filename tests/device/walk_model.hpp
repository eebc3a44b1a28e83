// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The walk's protocol in every order in which ranks can take their turns: small collectives, one
/// block a rank, each rank a fiber that stops before whatever others can see. All states that can
/// be reached are visited.
#pragma once

#include <ucontext.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "runtime/device/walk_steps_internal.hpp"
#include "support.hpp"

namespace multitree::runtime::test {

using device::Walk;
using device::WalkLane;
using device::WalkStep;

/// What a rank has written into memory of others and they do not see yet.
struct BufferedWrite {
  std::byte* to = nullptr;
  std::vector<std::byte> bytes;
  bool release = false;  ///< is seen after all that was written before
};

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
  std::vector<BufferedWrite> buffered;
  std::vector<std::byte> before;  ///< the arena when it last began to wait
  const std::uint64_t* awaited = nullptr;
  std::uint64_t value = 0;
  std::uint32_t turns = 0;
  bool over = false;
};

/// Sequential: what is written is seen at once. Weak: what is written to others is seen later and
/// in any order, but a release behind all that was written before it, as on GPUs.
enum class Ordering { Sequential, Weak };

/// What is wrong with the model's machine, to see that it would be found.
enum class Fault {
  None,
  IgnoresPlaces,  ///< a sender does not wait until its place is free
  NoRelease,      ///< counters may be seen before what was written in front of them
  NoAcquire,      ///< what is read behind a counter was read when the wait began
  ReadsLate,      ///< a place is given back before it was read
};

class Model {
 public:
  Model(const Schedule& schedule, std::size_t count, std::size_t segment, std::uint32_t calls,
        Ordering ordering = Ordering::Sequential, Fault fault = Fault::None)
      : schedule_(schedule), count_(count), calls_(calls), ordering_(ordering), fault_(fault) {
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
    static bool may_begin() { return true; }
    bool wait(const std::uint64_t* counter, std::uint64_t value) {
      if (model_.fault_ == Fault::IgnoresPlaces && model_.is_credit(counter)) return true;
      if (model_.fault_ == Fault::NoAcquire) rank_.before = rank_.arena;
      rank_.awaited = counter;
      rank_.value = value;
      model_.stop(rank_);
      rank_.awaited = nullptr;
      return true;
    }
    void publish(std::uint64_t* counter, std::uint64_t value) {
      write(reinterpret_cast<std::byte*>(counter), &value, sizeof value,
            model_.fault_ != Fault::NoRelease);
      if (!late_) return;
      model_.stop(rank_);
      late_();
      late_ = nullptr;
    }
    void copy(std::byte* to, const std::byte* from, std::uint64_t bytes) {
      read([=, this] { write(to, seen(from), bytes, false); }, from);
    }
    void reduce(std::byte* to, const std::byte* a, const std::byte* b, std::uint64_t bytes) {
      model_.stop(rank_);
      read(
          [=, this] {
            const std::byte* const second = seen(b);
            for (std::uint64_t i = 0; i < bytes; i += 4) {
              std::uint32_t x = 0, y = 0;
              std::memcpy(&x, a + i, 4);
              std::memcpy(&y, second + i, 4);
              x += y;
              std::memcpy(to + i, &x, 4);
            }
          },
          b);
    }
    void mark(std::byte* place, std::uint64_t tag) { write(place, &tag, sizeof tag, false); }
    std::uint64_t marked(const std::byte* place) {
      std::uint64_t tag = 0;
      std::memcpy(&tag, place, sizeof tag);
      return tag;
    }
    void divide(std::byte*, std::uint64_t, std::uint32_t) {}
    void keep(std::uint64_t* counter, std::uint64_t value) { *counter = value; }
    void report(std::uint32_t*, std::uint32_t lane) { model_.stranger_ = lane; }

   private:
    void write(std::byte* to, const void* from, std::uint64_t bytes, bool release) {
      if (model_.ordering_ == Ordering::Sequential || !model_.is_of_another(rank_, to)) {
        model_.stop(rank_);
        std::memcpy(to, from, bytes);
        return;
      }
      const auto* const begin = static_cast<const std::byte*>(from);
      rank_.buffered.push_back({to, {begin, begin + bytes}, release});
    }
    /// Of a place, with ReadsLate, once it was given back.
    template <typename Function>
    void read(const Function& function, const std::byte* from) {
      if (model_.fault_ == Fault::ReadsLate && model_.is_in(rank_, from)) {
        late_ = function;
      } else {
        function();
      }
    }
    [[nodiscard]] const std::byte* seen(const std::byte* from) const {
      if (model_.fault_ != Fault::NoAcquire || !model_.is_in(rank_, from)) return from;
      return rank_.before.data() + (from - rank_.arena.data());
    }

    Model& model_;
    ModelRank& rank_;
    std::function<void()> late_;
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
      rank.buffered.clear();
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
    for (const std::uint8_t turn : order) take(turn);
  }

  /// A rank's turn; or behind those, that of one of the writes that others do not see yet.
  void take(std::uint8_t turn) {
    if (turn < ranks_.size()) {
      ++ranks_[turn]->turns;
      swapcontext(&scheduler_, &ranks_[turn]->fiber);
      return;
    }
    const std::size_t which = turn - ranks_.size();
    std::vector<BufferedWrite>& buffered = ranks_[which / kMostBuffered]->buffered;
    const auto at = buffered.begin() + static_cast<std::ptrdiff_t>(which % kMostBuffered);
    std::copy(at->bytes.begin(), at->bytes.end(), at->to);
    buffered.erase(at);
  }

  /// Whether all that has to be seen before the n-th of these is.
  static bool may_be_seen(const std::vector<BufferedWrite>& buffered, std::size_t n) {
    if (buffered[n].release) return n == 0;
    return std::none_of(buffered.begin(), buffered.begin() + static_cast<std::ptrdiff_t>(n),
                        [&](const BufferedWrite& w) { return w.to == buffered[n].to; });
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

  [[nodiscard]] static bool is_in(const ModelRank& rank, const std::byte* at) {
    return at >= rank.arena.data() && at < rank.arena.data() + rank.arena.size();
  }
  [[nodiscard]] bool is_of_another(const ModelRank& rank, const std::byte* at) const {
    return std::any_of(ranks_.begin(), ranks_.end(),
                       [&](const auto& r) { return r.get() != &rank && is_in(*r, at); });
  }

  void stop(ModelRank& rank) { swapcontext(&rank.fiber, &scheduler_); }

  [[nodiscard]] std::vector<std::uint8_t> ready() const {
    std::vector<std::uint8_t> list;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      const ModelRank& rank = *ranks_[r];
      const bool waits = rank.awaited != nullptr && *rank.awaited < rank.value;
      if (!rank.over && !waits) list.push_back(static_cast<std::uint8_t>(r));
      const std::size_t most = std::min(kMostBuffered, rank.buffered.size());
      for (std::size_t n = 0; n < most; ++n) {
        if (!may_be_seen(rank.buffered, n)) continue;
        list.push_back(static_cast<std::uint8_t>(ranks_.size() + r * kMostBuffered + n));
      }
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
      for (const BufferedWrite& write : rank->buffered) {
        all.append(reinterpret_cast<const char*>(&write.to), sizeof write.to);
        all.append(reinterpret_cast<const char*>(write.bytes.data()), write.bytes.size());
      }
      all.append(reinterpret_cast<const char*>(rank->before.data()), rank->before.size());
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

  static constexpr std::size_t kMostBuffered = 16;
  static inline Model* current_ = nullptr;
  const Schedule& schedule_;
  std::size_t count_;
  std::uint32_t calls_;
  Ordering ordering_;
  Fault fault_;
  std::uint64_t place_bytes_ = 0;
  std::vector<std::unique_ptr<ModelRank>> ranks_;
  ucontext_t scheduler_;
  std::uint32_t stranger_ = 0;
  std::size_t states_ = 0;
};

}  // namespace multitree::runtime::test
