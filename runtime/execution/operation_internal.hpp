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
#include "runtime/kernels/data_type.hpp"

namespace multitree::runtime {

/// A schedule with this rank's part of it.
struct LoadedSchedule {
  Schedule schedule;
  Plan plan;
};

/// A program with what it points to.
struct LoadedProgram {
  std::shared_ptr<const LoadedSchedule> source;
  Program program;
};

/// What a collective runs on: the input, and the buffer that it works in (they may be the same).
struct Buffers {
  const std::byte* input = nullptr;
  std::byte* data = nullptr;
};

/// Where buffers lie, as far as messages between ranks tell it apart.
enum class Memory : std::uint8_t { Host, Device };

/// What the tags of a collective start with; below are 32 bits, and the highest bit of all is left
/// to checksums (kChecksumTag).
inline std::uint64_t tag_of(std::uint64_t sequence, Memory memory) {
  return ((sequence & 0x3fffU) | (memory == Memory::Device ? 0x4000U : 0U)) << 32;
}

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
