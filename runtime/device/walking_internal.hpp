// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Collectives as one kernel: the memory that ranks map of each other for it, and its launches.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/device/timeline_internal.hpp"
#include "runtime/device/walk_steps_internal.hpp"
#include "runtime/device/workspace_internal.hpp"
#include "runtime/execution/operation_internal.hpp"
#include "runtime/job/bootstrap.hpp"

namespace multitree::runtime::device {

/// What the kernels of a program and a shape walk. Nothing in it belongs to one call, so it is put
/// on the device once.
struct WalkList {
  std::shared_ptr<const LoadedProgram> program;
  WalkShape shape;
  WalkSteps list;
  BlockPool::Block pinned, memory;  ///< steps, then lanes
  std::atomic<bool> uploaded{false};
  bool recorded = false;  ///< into a graph, which needs it for as long as it is there
  BlockPool::Block work;  ///< of what was recorded

  [[nodiscard]] const std::vector<Seat>& peers() const { return program->program.plan->peers; }
  [[nodiscard]] std::size_t steps_bytes() const { return list.steps.size() * sizeof(WalkStep); }
  [[nodiscard]] std::size_t bytes() const {
    return steps_bytes() + peers().size() * sizeof(WalkLane);
  }
};

/// Each rank has places for messages from every other, and counters, in one allocation that the
/// others map:
///
///     places from seat 0, 1, ... | arrived from ... | consumed by ... | passed to and from ...
///
/// Calls follow each other in one order at all ranks, that in which they were launched, whatever
/// streams they are on. What is recorded into a graph is not among them: whoever launches graphs
/// sees to it that all ranks launch them, and make other calls, in one order, each behind the one
/// before.
class Walking {
 public:
  /// Collective. Null at all ranks unless each has a device of its own that can walk and that all
  /// others can map; `segment_bytes` is the most of a message. \throws Error(Cuda), as
  /// Bootstrap::all_gather
  static std::shared_ptr<Walking> join(Bootstrap& bootstrap,
                                       const std::shared_ptr<const Device>& device,
                                       const Identities& identities, const Routes& routes,
                                       std::size_t segment_bytes, Deadline deadline);
  ~Walking();
  Walking(const Walking&) = delete;
  Walking& operator=(const Walking&) = delete;

  /// Whether calls of this program are walked; the same at all ranks.
  [[nodiscard]] bool takes(const Program& program) const {
    return fits_walk(program, message_bytes_);
  }
  /// Of the longest piece.
  [[nodiscard]] std::size_t message_bytes() const { return message_bytes_; }
  /// Made when first asked for, and kept. From any thread.
  std::shared_ptr<WalkList> list_of(const std::shared_ptr<const LoadedProgram>& program,
                                    const WalkShape& shape);
  /// Blocks of pinned and of device memory for a list, and for its work.
  [[nodiscard]] Needs needs(const WalkList& list) const;

  struct Call {
    const std::byte* input = nullptr;
    std::byte* output = nullptr;
    std::byte* work = nullptr;
    DataType type{};
    ReduceOp op{};
    std::uint64_t tag = 0;
  };
  /// Puts the kernel on the stream, behind that of the call before; `work` is taken care of. The
  /// event is recorded behind it. \returns the call's number: how many were launched before
  std::uint64_t launch(Workspace& workspace, WalkList& list, Call call, Stream stream,
                       const std::shared_ptr<OwnedEvent>& over);
  /// Whether all calls before this one are over, as far as anybody has told: the device need not be
  /// asked about others.
  [[nodiscard]] bool is_oldest(std::uint64_t number) const { return number <= over_; }
  void is_over(std::uint64_t number) { over_ = std::max(over_, number + 1); }
  /// Records the kernel, and nothing else, into the graph that is captured from `stream`; `work` is
  /// taken care of. \throws Error(Timeout) if the list is not on the device by the deadline.
  void record(Workspace& workspace, WalkList& list, Call call, Stream stream, Deadline deadline);

  /// The seat whose message belonged to another call, if a kernel has met one.
  [[nodiscard]] std::optional<Seat> stranger() const;
  /// Lets kernels end that wait for others.
  void give_up();
  /// Before the owners free what is mapped.
  void let_go() { mappings_.clear(); }

 private:
  Walking(std::shared_ptr<const Device> device, Seat self, std::uint32_t ranks,
          std::size_t segment_bytes);
  void open();
  struct Offer;
  /// False if one of the others cannot walk, or cannot be mapped.
  bool map(const Gathered& offers, const Offer& mine);
  [[nodiscard]] std::size_t places_bytes() const;
  [[nodiscard]] std::size_t counters_bytes() const;
  [[nodiscard]] std::size_t arena_bytes() const;
  [[nodiscard]] WalkLane lane_to(Seat peer) const;
  void upload(Workspace& workspace, WalkList& list, Stream stream);
  void forget_lists(Workspace& workspace);
  void put(const WalkList& list, const Call& call, Stream stream);
  [[nodiscard]] std::uint64_t work_bytes(const WalkList& list) const {
    return list.list.work_bytes * blocks_;
  }

  std::shared_ptr<const Device> device_;
  Seat self_;
  std::uint32_t ranks_, blocks_;
  std::size_t message_bytes_, place_bytes_;
  std::byte* arena_ = nullptr;
  std::uint32_t* words_ = nullptr;  ///< pinned: whether we have given up, and a stranger's seat
  std::vector<std::byte*> arenas_;  ///< by seat, as mapped here
  std::mutex mutex_;                ///< of lists_
  std::vector<std::shared_ptr<WalkList>> lists_;
  std::uint64_t launched_ = 0, over_ = 0;
  std::shared_ptr<OwnedEvent> last_;  ///< the end of the call before; none: nothing was launched
  BlockPool::Block work_;             ///< of all calls in turn, as one follows the other
  std::atomic<std::size_t> work_room_{0};  ///< its bytes, for those who ask without the guard
  Mappings mappings_;
};

}  // namespace multitree::runtime::device
