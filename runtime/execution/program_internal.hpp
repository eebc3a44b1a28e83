// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// One rank's part of a schedule, cut into segments of a buffer of a given size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/schedule.hpp"
#include "runtime/job/links.hpp"
#include "runtime/kernels/data_type.hpp"

namespace multitree::runtime {

/// What a rank does with a transfer. Sends come first: within a step they read the old value.
enum class Action : std::uint8_t { Send, Reduce, Copy };

/// A transfer as one of its two ends sees it.
struct LocalTransfer {
  std::uint32_t step = 0;
  Action action = Action::Send;
  std::uint32_t index = 0;  ///< into Schedule::transfers
  std::uint32_t chunk = 0;
  Seat peer{};
  /// The data waits in scratch memory for its turn: every Reduce, and a Copy whose step also sends
  /// the old value (that send could wait for the peer's, and the peer's for our receive).
  bool scratch = false;
  bool settles = false;  ///< a send that is a Copy at its other end
};

/// The size-independent part, made once a schedule.
struct Plan {
  std::vector<LocalTransfer> transfers;  ///< by (step, chunk, action, index)
  std::vector<Seat> peers;               ///< ascending
  /// Most transfers that go through scratch in one (step, chunk): fewer buffers could deadlock.
  std::uint32_t scratch_floor = 0;
};

/// \throws Error(InvalidArgument) if a transfer names a rank or chunk that does not exist.
/// \param rounded every message goes through scratch, as what travels is not what it stands for
/// \param levels levels_of() the schedule, to be taken for steps; empty: its steps are
Plan make_plan(const Schedule& schedule, Rank self, bool rounded = false,
               std::span<const std::uint32_t> levels = {});

/// A message: one segment of one transfer. Tasks are numbered in the order of issue.
struct Task {
  std::uint32_t transfer = 0;  ///< into Plan::transfers
  std::uint32_t segment = 0;
  std::uint32_t slot = 0;
  std::uint32_t lane = 0;     ///< its peer: into Plan::peers
  std::uint32_t message = 0;  ///< number of the message in the whole collective, part of its tag
  std::uint64_t begin = 0;    ///< bytes
  std::uint64_t bytes = 0;
  std::uint64_t message_bytes = 0;  ///< that travel, at most
  std::uint32_t bundle = kAlone;    ///< into Program::bundles
  std::uint64_t offset = 0;         ///< of its bytes in the message of the bundle

  static constexpr std::uint32_t kAlone = ~std::uint32_t{0};
};

/// Tasks that are one message: all that one rank sends to another in a step of a schedule in rounds
/// (levels_of()), up to a size. Its tag is that of the first of them.
struct Bundle {
  std::vector<std::uint32_t> tasks;  ///< ascending, in the order of their bytes
  std::uint64_t bytes = 0;
};

/// What Execution runs.
///
/// A slot is one segment of one chunk. A slot's tasks run in the order of the schedule; slots are
/// independent of each other, which is the pipelining.
///
///     wavefront = step + segment      segment 0   1   2   3
///                              step 0:        0   1   2   3
///                              step 1:        1   2   3   4
///                              step 2:        2   3   4   5
///
/// Tasks are sorted by (wavefront, step, chunk, action, index): an order that all ranks share, and
/// in which a task depends only on lower (wavefront, step, chunk) groups and on its own.
struct Program {
  /// Where a slot lies in the buffer, in bytes.
  struct Piece {
    std::uint64_t begin = 0;
    std::uint64_t bytes = 0;
  };

  const Plan* plan = nullptr;
  WireType wire = WireType::AsIs;  ///< with another than AsIs all messages go through scratch
  std::vector<Piece> pieces;       ///< by slot
  std::vector<Task> tasks;
  std::vector<std::uint32_t> slot_begin;  ///< tasks of slot s: slot_tasks[slot_begin[s] ..]
  std::vector<std::uint32_t> slot_tasks;
  std::vector<Bundle> bundles;               ///< none on devices, and with another wire than AsIs
  std::vector<std::uint32_t> scratch_tasks;  ///< those that receive into scratch, ascending
  std::uint32_t scratch_floor = 0;    ///< how many of them must be posted at a time, at least
  std::uint32_t scratch_blocks = 0;   ///< how many may
  std::uint64_t scratch_bytes = 0;    ///< of one block
  std::uint32_t sends_in_flight = 0;  ///< to one peer, of memory of a device
  std::vector<Seat> sent_to;          ///< whom messages go to, ascending
  bool receives = false;              ///< whether any message comes

  /// The tasks of the message that `id` is the first or the only one of.
  [[nodiscard]] std::span<const std::uint32_t> message_of(const std::uint32_t& id) const {
    const std::uint32_t bundle = tasks[id].bundle;
    return bundle == Task::kAlone ? std::span(&id, 1)
                                  : std::span<const std::uint32_t>(bundles[bundle].tasks);
  }
  /// The first of the tasks that travel with `id`.
  [[nodiscard]] std::uint32_t first_of(std::uint32_t id) const { return message_of(id).front(); }
  /// Of the message that `id` is the first or the only one of, at most.
  [[nodiscard]] std::uint64_t bytes_of(std::uint32_t id) const {
    const Task& task = tasks[id];
    return task.bundle == Task::kAlone ? task.message_bytes : bundles[task.bundle].bytes;
  }
  /// Whether a task that receives does so into scratch.
  [[nodiscard]] bool through_scratch(const Task& task) const {
    return task.bundle != Task::kAlone || plan->transfers[task.transfer].scratch;
  }
};

struct ProgramShape {
  std::size_t element_bytes = 0;
  std::size_t segment_bytes = 0;  ///< wanted; grows where the message numbers would not fit 32 bits
  std::size_t window_bytes = std::size_t{2} << 20;  ///< outstanding sends to one peer
  WireType wire = WireType::AsIs;                   ///< of floats
  std::size_t bundle_bytes = 0;  ///< most of a message of several tasks; 0: there are none
};

/// `ranges`: elements of each chunk (chunk_ranges()). All ranks must pass the same shape.
Program compile(const Plan& plan, const Schedule& schedule, std::span<const ElementRange> ranges,
                const ProgramShape& shape);

}  // namespace multitree::runtime
