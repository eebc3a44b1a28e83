// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Runs one rank's program over a transport: what is sent, received and reduced, and in which
/// order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "runtime/execution/activity_internal.hpp"
#include "runtime/execution/bundles_internal.hpp"
#include "runtime/execution/departure_internal.hpp"
#include "runtime/execution/encodings_internal.hpp"
#include "runtime/execution/outbox_internal.hpp"
#include "runtime/execution/program_internal.hpp"
#include "runtime/execution/recording_internal.hpp"
#include "runtime/execution/scratch_pool_internal.hpp"
#include "runtime/kernels/data_type.hpp"
#include "runtime/messages/transport.hpp"

namespace multitree::runtime {

/// A started collective. Order of the operations on one slot (segment of a chunk), as the schedule
/// has it: a send waits for all earlier receives of its slot; a receive changes the buffer when the
/// earlier sends have left it and the earlier receives are applied. Messages that are reduced are
/// received ahead into scratch and applied in that order, so results do not depend on arrival.
///
/// No deadlock: the lowest unfinished group (wavefront, step, chunk) can always move. All receives
/// of it are posted (scratch is given out in that order and holds a whole group), and no window
/// keeps back a send that is lower than all that are in flight (Outbox).
class Execution final : public Activity, private Sender {
 public:
  struct Context {
    Transport& transport;
    Outbox& outbox;
    ScratchPool& pool;
    std::uint64_t tag = 0;  ///< of its message 0; the others' differ in the lowest 32 bits
    DataType type{};
    ReduceOp op{};
    const ReduceFunction* function = nullptr;  ///< of ReduceOp::Custom
    Recorder* recorder = nullptr;              ///< told what happens; or null
    Turn turn{};
  };

  /// `input`: this rank's input, laid out as `data`, or `data` itself if the input is there
  /// already. A slot is read from `input` until it is first written, so that no copy is needed
  /// before; `data` need not be initialised. Program and buffers outlive the execution.
  Execution(const Program& program, const std::byte* input, std::byte* data,
            const Context& context);
  ~Execution() override;
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  /// Posts what can start at once.
  void start();
  /// Reacts to completions; true if there were any. \throws Error(Transport) if one failed.
  bool advance() override;
  /// Also that our messages have left: who is done may not come back for long, and his peers wait.
  [[nodiscard]] bool done() const override { return unfinished_ == 0 && departure_.over(); }
  /// Once done: copies what was never written between bytes `begin` and `end` from the input.
  void copy_untouched(std::uint64_t begin, std::uint64_t end);
  /// "waiting to receive chunk 4 segment 0 from rank 1 at step 3": the first of what is
  /// outstanding.
  [[nodiscard]] std::string waiting_for() const override;
  [[nodiscard]] std::vector<Seat> awaited_ranks() const override;

 private:
  struct Slot {
    std::uint32_t next = 0;  ///< into Program::slot_tasks: the first task not yet passed
    std::uint32_t end = 0;
    std::uint32_t sends = 0;  ///< in flight or queued
    bool untouched = false;   ///< its value is still in the input buffer
  };

  void begin_departure();
  void run_slot(Slot& slot);
  bool run_receive(std::uint32_t id, const Slot& slot);
  void post(std::uint32_t id) override;
  void post_scratch();
  void apply_scratch(std::uint32_t id);
  /// What was received, into the place of its slot.
  void take(std::uint32_t id, ScratchPool::Block& received);
  /// The same of what does not travel as it is; `first`: as Encodings::reduce().
  void unpack(std::uint32_t id, ScratchPool::Block& received, const std::byte* first);
  /// What a send puts on the wire.
  Encodings::Message message_of(const Task& task);
  /// The same of several.
  Encodings::Message gathered(std::span<const std::uint32_t> tasks);
  void on_finished(std::uint32_t id);
  [[nodiscard]] const LocalTransfer& transfer_of(const Task& task) const {
    return program_.plan->transfers[task.transfer];
  }
  [[nodiscard]] std::string words(std::uint32_t id) const;

  const Program& program_;
  const std::byte* input_;
  std::byte* data_;
  Context context_;
  std::vector<Slot> slots_;
  std::deque<Outbox::Line> lines_;       ///< by peer
  std::vector<Completion> completions_;  ///< by task
  std::vector<ScratchPool::Block> blocks_;
  std::vector<std::uint32_t> block_of_;  ///< task -> block while it holds one
  std::vector<std::uint32_t> free_blocks_;
  Bundles bundles_;
  std::size_t next_scratch_ = 0;  ///< into Program::scratch_tasks
  std::size_t unfinished_ = 0;
  Departure departure_;  ///< of all that was sent, once all tasks are finished
  std::vector<Completion*> finished_, batch_;
  std::unique_ptr<Encodings> encodings_;      ///< null: values travel as they are
  std::unique_ptr<TaskRecording> recording_;  ///< null: nobody wants to know
};

}  // namespace multitree::runtime
