// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Collectives as one kernel: the memory that ranks map of each other for it, and its launches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/device/walk_steps_internal.hpp"
#include "runtime/device/workspace_internal.hpp"
#include "runtime/job/bootstrap.hpp"

namespace multitree::runtime::device {

/// Each rank has places for messages from every other, and counters, in one allocation that the
/// others map:
///
///     places from seat 0, 1, ... | arrived from seat 0, 1, ... | consumed by seat 0, 1, ...
///
/// Calls follow each other in one order at all ranks, that of their tickets, on one stream.
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
  /// Blocks of pinned and of device memory for the list of a program.
  [[nodiscard]] static Needs needs(const Program& program);

  /// Calls are numbered in the order in which they are made, and launched in that order.
  std::uint64_t ticket() { return tickets_++; }
  [[nodiscard]] bool is_turn(std::uint64_t ticket) const { return ticket == turn_; }

  struct Call {
    const std::byte* input = nullptr;
    std::byte* data = nullptr;
    Extent result;
    DataType type{};
    ReduceOp op{};
    std::uint64_t tag = 0;
  };
  /// What a launch needs until it is over.
  struct Launch {
    BlockPool::Block pinned, list;
  };
  /// Puts the kernel on `compute` and gives the next ticket its turn.
  Launch launch(Workspace& workspace, const Program& program, const Call& call);
  static void give_back(Workspace& workspace, Launch& launch);

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

  std::shared_ptr<const Device> device_;
  Seat self_;
  std::uint32_t ranks_, blocks_;
  std::size_t message_bytes_, place_bytes_;
  std::byte* arena_ = nullptr;
  std::uint32_t* words_ = nullptr;  ///< pinned: whether we have given up, and a stranger's seat
  std::vector<std::byte*> arenas_;  ///< by seat, as mapped here
  std::vector<std::uint64_t> sent_, received_;  ///< by seat
  std::uint64_t tickets_ = 0, turn_ = 0;
  Mappings mappings_;
};

}  // namespace multitree::runtime::device
