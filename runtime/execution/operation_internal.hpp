// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A started collective: what it was called with, its memory, and its ending.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "algorithms/schedule.hpp"
#include "runtime/execution/engine_internal.hpp"
#include "runtime/execution/layout_internal.hpp"
#include "runtime/execution/program_internal.hpp"
#include "runtime/execution/shared_call_internal.hpp"
#include "runtime/kernels/data_type.hpp"

namespace multitree::runtime {

/// A schedule with this rank's part of it.
struct LoadedSchedule {
  Schedule schedule;
  Plan plan;
  std::uint64_t digest = 0;  ///< of what moves, when and where; equal at all ranks
};

/// A program with what it points to.
struct LoadedProgram {
  std::shared_ptr<const LoadedSchedule> source;
  Program program;
  std::uint64_t digest = 0;  ///< of the schedule and of how it is cut into messages
};

/// What a collective runs on: the input, and the buffer that it works in (they may be the same).
struct Buffers {
  const std::byte* input = nullptr;
  std::byte* data = nullptr;
};

/// Where buffers lie, as far as messages between ranks tell it apart.
enum class Memory : std::uint8_t { Host, Device };

/// What the 32 bits of a message's number are added to, by exclusive or: the digest of the call,
/// below its number in the communicator. A message of another call under the same number has the
/// tag of none of this one's, or next to never. The number has 14 bits; how often it has gone
/// round them is in the digest, as a rank that only sends may be any number of calls ahead. The
/// highest bit of all is left to checksums (kChecksumTag), and the last number to announcements
/// (kAnnouncementTag).
inline std::uint64_t tag_of(std::uint64_t sequence, Memory memory, const SharedCall& call) {
  constexpr std::uint64_t kNumbers = 0x3fff;
  const std::uint64_t above = sequence % kNumbers | (memory == Memory::Device ? 0x4000U : 0U);
  return above << 32 | digest_of(call, sequence / kNumbers);
}

/// What all ranks are to call a loaded program with.
SharedCall shared_call(const Call& call, const LoadedProgram& loaded);

/// One started collective, behind a Request.
class Operation {
 public:
  Operation() = default;
  virtual ~Operation() = default;
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  virtual bool test() = 0;
  virtual void wait() = 0;
};

/// One by messages: the execution, its memory, and its ending.
class MessageOperation final : public Operation {
 public:
  MessageOperation(std::shared_ptr<Engine> engine, std::shared_ptr<const LoadedProgram> program,
                   const Call& call, std::uint64_t sequence, Recorder* recorder);
  ~MessageOperation() override;

  /// Posts the first messages. Apart from the constructor, so that a failure finds a whole object.
  void start();
  bool test() override;
  void wait() override;
  /// wait() under a guard that the caller holds.
  void finish();

 private:
  /// Runs in recv, or where that cannot hold the whole in a work buffer.
  Buffers prepare();
  void complete();
  void release();

  std::shared_ptr<Engine> engine_;
  std::shared_ptr<const LoadedProgram> program_;
  Call call_;
  Layout layout_;
  ScratchPool::Block work_;
  std::unique_ptr<Execution> execution_;  ///< null when complete
};

}  // namespace multitree::runtime
