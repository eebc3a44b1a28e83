// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A whole collective in one kernel: each block walks this rank's list of messages and moves a
/// slice of each, by memory that is mapped between the ranks' devices. The host puts it on a stream
/// and does nothing else. One source for CUDA and for the host; what differs is the Machine.
///
///     sender's block b                           receiver's block b
///     wait: consumed >= number - kWalkPlaces + 1
///     its slice -> place number % kWalkPlaces    wait: arrived >= number + 1
///     arrived = number + 1  (release) ─────────▶ (acquire) slice -> data, or data op slice
///                           (acquire) ◀───────── (release) consumed = number + 1
///
/// Blocks of the same number talk to each other and to no others, so a kernel needs nothing of its
/// own other blocks. No deadlock: all ranks have their steps in one order, by (wavefront, step,
/// chunk), sends first (runtime/execution/program_internal.hpp). Of all steps that are not done
/// take the lowest such group: everything below is done, so there are places for its sends, one to
/// a peer at most (walk_steps() sees to that), and then what its receives wait for is there.
#pragma once

#include <cstddef>
#include <cstdint>

#ifdef __CUDACC__
#define MULTITREE_WALK_FUNCTION __device__
#else
#define MULTITREE_WALK_FUNCTION
#endif

namespace multitree::runtime::device {

/// Messages that a rank takes from another before it has used the first.
inline constexpr std::uint32_t kWalkPlaces = 4;
/// Between the counters of two blocks: they are written from afar.
inline constexpr std::size_t kWalkCounterStride = 128;
/// In front of a slice: which call it belongs to.
inline constexpr std::size_t kWalkHeader = 16;
/// Slices begin at multiples of it, so that a thread can move as much at a time.
inline constexpr std::size_t kWalkVector = 16;

enum class WalkAction : std::uint32_t { Send, Reduce, Copy, Keep };

/// A message of this rank; or, with Keep, a piece of the input that is its own result.
struct WalkStep {
  std::uint64_t begin = 0;   ///< of the piece, in bytes
  std::uint64_t bytes = 0;   ///< of the piece
  std::uint32_t lane = 0;    ///< the peer
  std::uint32_t number = 0;  ///< among this call's messages of the lane and direction
  WalkAction action{};
  std::uint32_t fresh = 0;  ///< 1: the piece was not written yet, it lies in the input
};

/// What two ranks share, as one of them sees it. Counters are those of block 0.
struct WalkLane {
  std::byte* places_there = nullptr;        ///< of the peer, for what is sent
  std::uint64_t* arrived_there = nullptr;   ///< of the peer, written here
  const std::uint64_t* consumed = nullptr;  ///< here, written by the peer
  const std::byte* places = nullptr;        ///< here, for what is received
  const std::uint64_t* arrived = nullptr;   ///< here, written by the peer
  std::uint64_t* consumed_there = nullptr;  ///< of the peer, written here
  std::uint64_t sent_before = 0;            ///< messages of earlier calls
  std::uint64_t received_before = 0;
  std::uint64_t sent = 0;  ///< messages of this call
  std::uint32_t seat = 0;  ///< the peer's
};

/// One call of one rank.
struct Walk {
  const WalkStep* steps = nullptr;
  const WalkLane* lanes = nullptr;
  std::uint32_t step_count = 0;
  std::uint32_t lane_count = 0;
  std::uint32_t blocks = 0;
  std::uint64_t place_bytes = 0;  ///< of a block's slice with its header
  std::uint64_t tag = 0;          ///< the same at all ranks that call the same
  const std::byte* input = nullptr;
  std::byte* data = nullptr;                ///< may be the input
  const std::uint32_t* given_up = nullptr;  ///< not 0: the host wants the kernel to end
  std::uint32_t* stranger = nullptr;  ///< set to 1 + the seat whose message belongs to another call
};

/// Bytes of a place's slice for pieces of at most `bytes`.
constexpr std::uint64_t walk_place_bytes(std::uint64_t bytes, std::uint32_t blocks) {
  const std::uint64_t slice = (bytes + blocks - 1) / blocks;
  return kWalkHeader + (slice + kWalkVector - 1) / kWalkVector * kWalkVector + kWalkVector;
}

/// A block's walk. The Machine has, for all threads of the block together:
/// `block()`; `wait(counter, value)`, which answers false if the host gives up; `publish(counter,
/// value)`, which makes visible all that the block has read and written before; `copy` and `reduce`
/// of a slice; `mark(place, tag)` and `marked(place)` for headers.
template <typename Machine>
class Walker {
 public:
  MULTITREE_WALK_FUNCTION Walker(Machine& machine, const Walk& walk)
      : machine_(machine), walk_(walk) {}

  MULTITREE_WALK_FUNCTION void run() {
    for (std::uint32_t i = 0; i < walk_.step_count; ++i) {
      const WalkStep& step = walk_.steps[i];
      if (step.action == WalkAction::Keep) {
        keep(step);
      } else if (step.action == WalkAction::Send ? !send(step) : !receive(step)) {
        return;
      }
    }
    // Peers write into this rank's counters until they have used what was sent to them.
    for (std::uint32_t l = 0; l < walk_.lane_count; ++l) {
      const WalkLane& lane = walk_.lanes[l];
      if (!machine_.wait(counter(lane.consumed), lane.sent_before + lane.sent)) return;
    }
  }

 private:
  struct Slice {
    std::uint64_t begin = 0, bytes = 0;
  };

  /// Whole vectors for all blocks but the last that has any.
  MULTITREE_WALK_FUNCTION Slice slice_of(const WalkStep& step) const {
    const std::uint64_t even = (step.bytes + walk_.blocks - 1) / walk_.blocks;
    const std::uint64_t each = (even + kWalkVector - 1) / kWalkVector * kWalkVector;
    const std::uint64_t begin = each * machine_.block();
    if (begin >= step.bytes) return {};
    const std::uint64_t left = step.bytes - begin;
    return {step.begin + begin, left < each ? left : each};
  }

  template <typename Counter>
  MULTITREE_WALK_FUNCTION Counter* counter(Counter* first) const {
    return first + machine_.block() * (kWalkCounterStride / sizeof(Counter));
  }

  /// Of a message: its place, and behind the header where its slice begins, as far from a multiple
  /// of a vector as in the buffer.
  MULTITREE_WALK_FUNCTION std::uint64_t place_of(std::uint64_t number) const {
    return ((number % kWalkPlaces) * walk_.blocks + machine_.block()) * walk_.place_bytes;
  }
  MULTITREE_WALK_FUNCTION static std::uint64_t skew_of(const Slice& slice) {
    return kWalkHeader + slice.begin % kWalkVector;
  }

  MULTITREE_WALK_FUNCTION const std::byte* source(const WalkStep& step) const {
    return step.fresh != 0 ? walk_.input : walk_.data;
  }

  MULTITREE_WALK_FUNCTION void keep(const WalkStep& step) {
    const Slice slice = slice_of(step);
    machine_.copy(walk_.data + slice.begin, walk_.input + slice.begin, slice.bytes);
  }

  MULTITREE_WALK_FUNCTION bool send(const WalkStep& step) {
    const WalkLane& lane = walk_.lanes[step.lane];
    const std::uint64_t number = lane.sent_before + step.number;
    if (number >= kWalkPlaces && !machine_.wait(counter(lane.consumed), number - kWalkPlaces + 1)) {
      return false;
    }
    const Slice slice = slice_of(step);
    std::byte* const place = lane.places_there + place_of(number);
    machine_.mark(place, walk_.tag);
    machine_.copy(place + skew_of(slice), source(step) + slice.begin, slice.bytes);
    machine_.publish(counter(lane.arrived_there), number + 1);
    return true;
  }

  MULTITREE_WALK_FUNCTION bool receive(const WalkStep& step) {
    const WalkLane& lane = walk_.lanes[step.lane];
    const std::uint64_t number = lane.received_before + step.number;
    if (!machine_.wait(counter(lane.arrived), number + 1)) return false;
    const std::byte* const place = lane.places + place_of(number);
    if (machine_.marked(place) != walk_.tag) {
      machine_.report(walk_.stranger, lane.seat + 1);
      return false;
    }
    const Slice slice = slice_of(step);
    std::byte* const to = walk_.data + slice.begin;
    if (step.action == WalkAction::Copy) {
      machine_.copy(to, place + skew_of(slice), slice.bytes);
    } else {
      machine_.reduce(to, source(step) + slice.begin, place + skew_of(slice), slice.bytes);
    }
    machine_.publish(counter(lane.consumed_there), number + 1);
    return true;
  }

  Machine& machine_;
  const Walk& walk_;
};

}  // namespace multitree::runtime::device
