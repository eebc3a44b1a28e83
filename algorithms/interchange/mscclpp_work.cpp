// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Where messages of an MSCCL++ plan are put. A sender writes into the receiver's memory whenever
/// it likes, so what could meet a value that is still read goes to a slot of its own.
#include <algorithm>

#include "algorithms/interchange/mscclpp_program_internal.hpp"

namespace multitree::interchange {
namespace {

/// How far each rank has come, as far as a rank can know. One for each chunk: only operations of
/// one chunk meet in memory.
class Clocks {
 public:
  explicit Clocks(std::uint32_t ranks) : ranks_(ranks), known_(std::size_t{ranks} * ranks) {}

  void begin() { std::ranges::fill(known_, 0U); }
  /// One operation more of a rank.
  void step(Rank rank) { ++at(rank, rank); }
  /// What a rank knows at this moment, for a message of it.
  [[nodiscard]] std::vector<std::uint32_t> told(Rank rank) const {
    const auto row =
        known_.begin() + static_cast<std::ptrdiff_t>(std::size_t{index(rank)} * ranks_);
    return {row, row + ranks_};
  }
  void learn(Rank rank, const std::vector<std::uint32_t>& told) {
    for (std::uint32_t r = 0; r < ranks_; ++r) {
      std::uint32_t& known = at(rank, Rank{r});
      known = std::max(known, told[r]);
    }
  }
  [[nodiscard]] std::uint32_t own(Rank rank) { return at(rank, rank); }

 private:
  std::uint32_t& at(Rank rank, Rank of) {
    return known_[std::size_t{index(rank)} * ranks_ + index(of)];
  }
  std::uint32_t ranks_;
  std::vector<std::uint32_t> known_;
};

class SlotPlanner {
 public:
  SlotPlanner(MscclppWork& work, BufferMode buffers)
      : work_(work), may_alias_(buffers != BufferMode::OutOfPlace), clocks_(work.schedule->ranks) {}

  void run() {
    const std::vector<Operation>& operations = work_.all.operations;
    work_.slots.resize(operations.size());
    work_.flushes.assign(operations.size(), false);
    std::vector<std::vector<std::uint32_t>> by_chunk(work_.schedule->chunks.size());
    for (std::uint32_t id = 0; id < operations.size(); ++id) {
      by_chunk[operations[id].chunk].push_back(id);
    }
    for (const auto& chunk : by_chunk) plan(chunk);
    // Slots are given out in the order of all operations, as scratch is read in.
    work_.scratch = work_.all.scratch;
    for (std::uint32_t id = 0; id < operations.size(); ++id) {
      const Operation& o = operations[id];
      if (work_.slots[id].buffer != Buffer::Scratch || !needs_slot_[id]) continue;
      std::uint32_t& next = work_.scratch[index(o.rank)];
      work_.slots[id].offset = next;
      next += work_.layout.count[o.chunk];
    }
  }

 private:
  /// Whether two places of one chunk and rank may be the same memory.
  [[nodiscard]] bool meet(const Place& a, const Place& b) const {
    if (a == b) return true;
    return may_alias_ && a.buffer != Buffer::Scratch && b.buffer != Buffer::Scratch;
  }

  /// Whether an operation reads or writes a place.
  [[nodiscard]] bool touches(const Operation& o, const Place& place) const {
    const bool reads = o.action != Action::Receive && meet(o.src, place);
    return reads || (o.action != Action::Send && meet(o.dst, place));
  }

  void plan(const std::vector<std::uint32_t>& ids) {
    needs_slot_.resize(work_.all.operations.size(), false);
    clocks_.begin();
    std::vector<std::vector<std::uint32_t>> told(ids.size());
    std::vector<std::vector<std::uint32_t>> of_rank(work_.schedule->ranks);
    const auto position = [&](std::uint32_t id) {
      return static_cast<std::size_t>(std::ranges::lower_bound(ids, id) - ids.begin());
    };
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const Operation& o = work_.all.operations[ids[i]];
      std::vector<std::uint32_t>& before = of_rank[index(o.rank)];
      if (o.action == Action::Receive || o.action == Action::ReceiveReduce) {
        const std::vector<std::uint32_t>& known = told[position(o.other)];
        place_message(ids[i], before, known);
        clocks_.learn(o.rank, known);
      }
      clocks_.step(o.rank);
      if (o.action == Action::Send) told[i] = clocks_.told(o.rank);
      mark_sources(o, before);
      before.push_back(ids[i]);
    }
  }

  /// Directly where it belongs if the sender knows that all is over that touched the place.
  void place_message(std::uint32_t id, const std::vector<std::uint32_t>& before,
                     const std::vector<std::uint32_t>& known) {
    const Operation& o = work_.all.operations[id];
    std::size_t touched = 0;  // operations up to the last that did
    for (std::size_t k = before.size(); k > 0 && touched == 0; --k) {
      if (touches(work_.all.operations[before[k - 1]], o.dst)) touched = k;
    }
    needs_slot_[id] = o.action == Action::ReceiveReduce || known[index(o.rank)] < touched;
    work_.slots[id] = needs_slot_[id] ? Place{Buffer::Scratch, 0} : o.dst;
  }

  /// A port reads what it sends when it comes to it: before the place is written, also by a peer
  /// that has heard of later operations, that has to be over.
  void mark_sources(const Operation& o, const std::vector<std::uint32_t>& before) {
    if (o.action == Action::Send) return;
    for (const std::uint32_t earlier : before) {
      const Operation& send = work_.all.operations[earlier];
      if (send.action == Action::Send && meet(send.src, o.dst)) work_.flushes[earlier] = true;
    }
  }

  MscclppWork& work_;
  bool may_alias_;
  Clocks clocks_;
  std::vector<bool> needs_slot_;
};

}  // namespace

MscclppWork mscclpp_work(const Schedule& schedule, BufferMode buffers,
                         std::uint32_t ranks_per_host) {
  MscclppWork work;
  work.schedule = &schedule;
  work.layout = unit_layout(schedule);
  work.all = rank_operations(schedule, work.layout, buffers);
  work.ranks_per_host = ranks_per_host == 0 ? schedule.ranks : ranks_per_host;
  SlotPlanner(work, buffers).run();
  return work;
}

}  // namespace multitree::interchange
