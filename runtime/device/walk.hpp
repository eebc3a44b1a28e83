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

enum class WalkAction : std::uint32_t { Send, Reduce, Copy, Keep, Divide };

/// Whose memory a piece lies in. Each block has a part of Work to itself, as blocks do not wait for
/// each other and Work is used again as soon as a piece has been sent on.
enum class WalkMemory : std::uint32_t { Input, Output, Work };

/// Where a piece lies; in Work, where each block's slice of it does.
struct WalkSpot {
  std::uint64_t offset = 0;  ///< bytes
  WalkMemory memory{};
};

/// A message of this rank; or what is done to a piece of the result: Keep takes it from the input,
/// Divide makes an average of a sum.
struct WalkStep {
  WalkSpot from;             ///< of Send, of Reduce (the first operand) and of Keep
  WalkSpot to;               ///< of all but Send
  std::uint64_t bytes = 0;   ///< of the piece
  std::uint32_t skew = 0;    ///< how far the piece lies from a multiple of a vector
  std::uint32_t lane = 0;    ///< the peer
  std::uint32_t number = 0;  ///< among this call's messages of the lane and direction
  WalkAction action{};
};

/// What two ranks share, as one of them sees it. Counters are those of block 0.
struct WalkLane {
  std::byte* places_there = nullptr;        ///< of the peer, for what is sent
  std::uint64_t* arrived_there = nullptr;   ///< of the peer, written here
  const std::uint64_t* consumed = nullptr;  ///< here, written by the peer
  const std::byte* places = nullptr;        ///< here, for what is received
  const std::uint64_t* arrived = nullptr;   ///< here, written by the peer
  std::uint64_t* consumed_there = nullptr;  ///< of the peer, written here
  /// Messages of earlier calls: sent, and behind it received. Kept by the kernels themselves, so
  /// that one that was recorded into a graph can run again and again.
  std::uint64_t* passed = nullptr;
  std::uint64_t sent = 0;  ///< messages of this call
  std::uint64_t received = 0;
  std::uint32_t seat = 0;  ///< the peer's
};

/// One call of one rank.
struct Walk {
  const WalkStep* steps = nullptr;
  const WalkLane* lanes = nullptr;
  std::uint32_t step_count = 0;
  std::uint32_t lane_count = 0;
  std::uint32_t blocks = 0;
  std::uint32_t divisor = 1;      ///< of averages
  std::uint64_t place_bytes = 0;  ///< of a block's slice with its header
  std::uint64_t work_bytes = 0;   ///< of a block's part of `work`
  std::uint64_t tag = 0;          ///< the same at all ranks that call the same
  const std::byte* input = nullptr;
  std::byte* output = nullptr;  ///< may be the input, or lie in it, or around it
  std::byte* work = nullptr;
  const std::uint32_t* given_up = nullptr;  ///< not 0: the host wants the kernel to end
  std::uint32_t* stranger = nullptr;  ///< set to 1 + the seat whose message belongs to another call
};

/// Bytes for a slice of a piece of at most `bytes`, wherever in a vector it begins.
constexpr std::uint64_t walk_slice_bytes(std::uint64_t bytes, std::uint32_t blocks) {
  const std::uint64_t slice = (bytes + blocks - 1) / blocks;
  return (slice + kWalkVector - 1) / kWalkVector * kWalkVector + kWalkVector;
}
/// Bytes of a place's slice for pieces of at most `bytes`.
constexpr std::uint64_t walk_place_bytes(std::uint64_t bytes, std::uint32_t blocks) {
  return kWalkHeader + walk_slice_bytes(bytes, blocks);
}

/// A block's walk. The Machine has, for all threads of the block together:
/// `block()`; `may_begin()`, which is false once the host has given up, as buffers may be gone
/// then; `wait(counter, value)`, which answers false if the host gives up; `publish(counter,
/// value)`, which makes visible all that the block has read and written before; `copy`, `reduce`
/// and `divide` of a slice; `mark(place, tag)` and `marked(place)` for headers; `keep(counter,
/// value)` for what only this device reads.
template <typename Machine>
class Walker {
 public:
  MULTITREE_WALK_FUNCTION Walker(Machine& machine, const Walk& walk)
      : machine_(machine), walk_(walk) {}

  MULTITREE_WALK_FUNCTION void run() {
    if (!machine_.may_begin()) return;
    for (std::uint32_t i = 0; i < walk_.step_count; ++i) {
      const WalkStep& step = walk_.steps[i];
      switch (step.action) {
        case WalkAction::Send:
          if (!send(step)) return;
          break;
        case WalkAction::Reduce:
        case WalkAction::Copy:
          if (!receive(step)) return;
          break;
        case WalkAction::Keep:
          keep(step);
          break;
        case WalkAction::Divide:
          machine_.divide(at(step.to, step), slice_of(step).bytes, walk_.divisor);
          break;
      }
    }
    finish();
  }

 private:
  struct Slice {
    std::uint64_t begin = 0, bytes = 0;  ///< in the piece
  };

  /// Whole vectors for all blocks but the last that has any.
  MULTITREE_WALK_FUNCTION Slice slice_of(const WalkStep& step) const {
    const std::uint64_t even = (step.bytes + walk_.blocks - 1) / walk_.blocks;
    const std::uint64_t each = (even + kWalkVector - 1) / kWalkVector * kWalkVector;
    const std::uint64_t begin = each * machine_.block();
    if (begin >= step.bytes) return {};
    const std::uint64_t left = step.bytes - begin;
    return {begin, left < each ? left : each};
  }

  /// Where this block's slice of a piece lies.
  MULTITREE_WALK_FUNCTION std::byte* at(const WalkSpot& spot, const WalkStep& step) const {
    switch (spot.memory) {
      case WalkMemory::Input:
        return const_cast<std::byte*>(walk_.input) + spot.offset + slice_of(step).begin;
      case WalkMemory::Output:
        return walk_.output + spot.offset + slice_of(step).begin;
      case WalkMemory::Work:
        break;
    }
    return walk_.work + machine_.block() * walk_.work_bytes + spot.offset;
  }

  template <typename Counter>
  MULTITREE_WALK_FUNCTION Counter* counter(Counter* first) const {
    return first + machine_.block() * (kWalkCounterStride / sizeof(Counter));
  }
  MULTITREE_WALK_FUNCTION std::uint64_t sent_before(const WalkLane& lane) const {
    return counter(lane.passed)[0];
  }
  MULTITREE_WALK_FUNCTION std::uint64_t received_before(const WalkLane& lane) const {
    return counter(lane.passed)[1];
  }

  /// Of a message: its place, and behind the header where its slice begins, as far from a multiple
  /// of a vector as in the buffer.
  MULTITREE_WALK_FUNCTION std::uint64_t place_of(std::uint64_t number) const {
    return ((number % kWalkPlaces) * walk_.blocks + machine_.block()) * walk_.place_bytes;
  }

  MULTITREE_WALK_FUNCTION void keep(const WalkStep& step) {
    std::byte* const to = at(step.to, step);
    const std::byte* const from = at(step.from, step);
    if (to != from) machine_.copy(to, from, slice_of(step).bytes);
  }

  MULTITREE_WALK_FUNCTION bool send(const WalkStep& step) {
    const WalkLane& lane = walk_.lanes[step.lane];
    const std::uint64_t number = sent_before(lane) + step.number;
    if (number >= kWalkPlaces && !machine_.wait(counter(lane.consumed), number - kWalkPlaces + 1)) {
      return false;
    }
    std::byte* const place = lane.places_there + place_of(number);
    machine_.mark(place, walk_.tag);
    machine_.copy(place + kWalkHeader + step.skew, at(step.from, step), slice_of(step).bytes);
    machine_.publish(counter(lane.arrived_there), number + 1);
    return true;
  }

  MULTITREE_WALK_FUNCTION bool receive(const WalkStep& step) {
    const WalkLane& lane = walk_.lanes[step.lane];
    const std::uint64_t number = received_before(lane) + step.number;
    if (!machine_.wait(counter(lane.arrived), number + 1)) return false;
    const std::byte* const place = lane.places + place_of(number);
    if (machine_.marked(place) != walk_.tag) {
      machine_.report(walk_.stranger, lane.seat + 1);
      return false;
    }
    const std::byte* const data = place + kWalkHeader + step.skew;
    const std::uint64_t bytes = slice_of(step).bytes;
    if (step.action == WalkAction::Copy) {
      machine_.copy(at(step.to, step), data, bytes);
    } else {
      machine_.reduce(at(step.to, step), at(step.from, step), data, bytes);
    }
    machine_.publish(counter(lane.consumed_there), number + 1);
    return true;
  }

  /// Peers write into this rank's counters until they have used what was sent to them.
  MULTITREE_WALK_FUNCTION void finish() {
    for (std::uint32_t l = 0; l < walk_.lane_count; ++l) {
      const WalkLane& lane = walk_.lanes[l];
      if (!machine_.wait(counter(lane.consumed), sent_before(lane) + lane.sent)) return;
    }
    for (std::uint32_t l = 0; l < walk_.lane_count; ++l) {
      const WalkLane& lane = walk_.lanes[l];
      machine_.keep(counter(lane.passed), sent_before(lane) + lane.sent);
      machine_.keep(counter(lane.passed) + 1, received_before(lane) + lane.received);
    }
  }

  Machine& machine_;
  const Walk& walk_;
};

}  // namespace multitree::runtime::device
