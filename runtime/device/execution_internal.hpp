// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Runs one rank's program on device memory: the counterpart of
/// runtime/execution/executor_internal.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "runtime/device/workspace_internal.hpp"
#include "runtime/execution/program_internal.hpp"
#include "runtime/messages/transport.hpp"

namespace multitree::runtime::device {

/// Bytes that a kernel's thread reads at a time.
inline constexpr std::size_t kVector = 16;

/// What a sender whose memory is mapped tells instead of the data.
struct Notice {
  std::uint64_t magic = 0;
  std::uint64_t offset = 0;  ///< in the arena
  std::uint64_t arena = 0;   ///< the sender's number for it
  Handle handle;
};

/// A started collective. The order of a slot's tasks is the schedule's, as in Execution, but what
/// the device does is only put on streams in that order: the host does not wait for a reduction
/// before it puts the next copy behind it.
///
///     send:     data ─(out)─▶ pinned or shared block ─▶ wire ─▶ block is free
///     receive:  wire ─▶ pinned block ─(in)─▶ scratch ─(compute)─▶ data; then both are free
///
/// Reductions of a slot that follow each other without a send between (the children of a tree's
/// node) are one pass, up to kMaxInputs - 1 of them. Which are joined follows from the schedule
/// alone, so results do not depend on arrival.
///
/// What is mapped is read where it lies, by the reduction itself. Its sender waits for the answer
/// with one of its blocks, and other messages that the reduction waits for may have to wait for
/// that block: when nothing moves for a while, what has arrived is copied out and answered.
///
/// No deadlock: receives are posted in task order, with blocks for more of them than any joined
/// reduction or (wavefront, step, chunk) spans; the lowest send of all gets a block even where the
/// peer's share is used up.
class DeviceExecution {
 public:
  struct Context {
    Transport& transport;
    Workspace& workspace;
    std::uint64_t tag = 0;
    DataType type{};
    ReduceOp op{};
  };

  /// As Execution; the buffers are given to start(). Takes no memory of the device yet.
  DeviceExecution(const Program& program, const Context& context);
  ~DeviceExecution();
  DeviceExecution(const DeviceExecution&) = delete;
  DeviceExecution& operator=(const DeviceExecution&) = delete;

  [[nodiscard]] const Needs& needs() const { return needs_; }
  /// `ready`: when `input` and `data` hold what they should.
  void start(const std::byte* input, std::byte* data, Moment ready);
  /// Reacts to what the transport and Workspace::poll() have found; true if anything moved.
  /// \throws Error(Transport), Error(Cuda).
  bool advance();
  /// All messages are in and applied, and all that was sent has left.
  [[nodiscard]] bool done() const { return unfinished_ == 0; }
  /// Once done: puts copies of what was never written between bytes `begin` and `end` on `compute`.
  void copy_untouched(std::uint64_t begin, std::uint64_t end);
  [[nodiscard]] std::string waiting_for() const;
  [[nodiscard]] std::vector<Seat> awaited_ranks() const;

 private:
  struct Slot {
    std::uint32_t next = 0, end = 0;  ///< into Program::slot_tasks
    std::uint32_t sends = 0;          ///< passed, but not yet on their way out of the buffer
    bool untouched = false;
    bool stalled = false;    ///< in stalled_
    Moment ready;            ///< when the last write is done
    std::uint64_t read = 0;  ///< mark of `out`: when the last copy out is done
  };
  struct Lane {
    std::vector<std::uint32_t> queue, in_flight;  ///< as in Execution
  };
  /// A message on its way in or out.
  struct Passage {
    BlockPool::Block pinned, scratch, shared;
    Notice notice;
    std::uint64_t mark = 0;            ///< of `in`: when it is in device memory
    const std::byte* where = nullptr;  ///< once arrived
    std::uint64_t answer = 0;          ///< to the notice
    std::uint32_t open = 0;  ///< what has to end before a send, or a mapped receive, is over
    bool refused = false;    ///< its memory could not be mapped, so it comes as data
    bool applied = false;    ///< put on a stream, if not yet done
    bool answered = false;   ///< the sender of a notice was told that its block is free
  };
  /// Tasks whose work on a timeline ends with a mark.
  struct Pending {
    std::uint64_t mark = 0;
    std::vector<std::uint32_t> tasks;
  };

  void prepare_window();
  void count_needs();
  [[nodiscard]] std::uint32_t group_end(std::uint32_t position, std::uint32_t end) const;
  void post_receives();
  void run_slot(Slot& slot);
  bool run_group(Slot& slot);
  bool receive_in_place(std::uint32_t id, Slot& slot);
  void reduce_group(Slot& slot, std::uint32_t begin, std::uint32_t end);
  void copy_one(Slot& slot, std::uint32_t id);
  void queue_send(std::uint32_t id);
  void pump(Lane& lane);
  void begin_send(std::uint32_t id);
  void post_send(std::uint32_t id);
  void send_over(std::uint32_t id);
  void on_finished(const Completion& completion);
  void on_arrived(std::uint32_t id);
  void on_applied(std::uint32_t id);
  bool settle(const Timeline& timeline, std::deque<Pending>& pending);
  void run_waiting();
  void copy_out();
  bool answer_read();
  void answer(std::uint32_t id);
  const std::byte* map(std::uint32_t id);
  void refuse(std::uint32_t id);
  void send_refused(std::uint32_t id);

  [[nodiscard]] const LocalTransfer& transfer_of(std::uint32_t id) const {
    return program_.plan->transfers[program_.tasks[id].transfer];
  }
  [[nodiscard]] Seat peer_of(std::uint32_t id) const {
    return program_.plan->peers[program_.tasks[id].lane];
  }
  [[nodiscard]] Route route_of(std::uint32_t id) const;
  /// The same, but of a message whose memory the receiver could not map.
  [[nodiscard]] Route way_of(std::uint32_t id) const {
    return passages_[id].refused ? Route::Staged : route_of(id);
  }
  [[nodiscard]] std::string words(std::uint32_t id) const;

  const Program& program_;
  const std::byte* input_ = nullptr;
  std::byte* data_ = nullptr;
  Context context_;
  Workspace& w_;
  std::vector<Slot> slots_;
  std::vector<Lane> lanes_;
  std::vector<Completion> completions_;  ///< by task
  std::vector<Completion> notices_;      ///< by task: the second operation of a mapped message
  std::vector<Passage> passages_;        ///< by task
  std::vector<std::uint32_t> window_;    ///< receives that are posted ahead, ascending
  std::size_t next_receive_ = 0;         ///< into window_
  std::size_t posted_ = 0, most_posted_ = 0;
  std::deque<Pending> leaving_, entering_, applying_;  ///< on out, in and compute
  std::deque<Pending> reading_;                        ///< on in: copied out
  std::vector<std::uint32_t> lingering_;               ///< mapped messages that have arrived
  std::uint32_t quiet_rounds_ = 0;
  std::vector<std::uint32_t> waiting_sends_;  ///< direct sends whose data is being computed
  std::vector<std::uint32_t> runnable_;       ///< slots to look at again
  std::vector<std::uint32_t> stalled_;        ///< the same, when a stream has moved
  Needs needs_;
  std::size_t unfinished_ = 0;
  std::vector<Completion*> finished_, batch_;
};

}  // namespace multitree::runtime::device
