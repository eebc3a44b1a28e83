// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A started collective: what it was called with, its memory, and its ending.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "algorithms/schedule.hpp"
#include "runtime/data_type.hpp"
#include "runtime/engine_internal.hpp"
#include "runtime/program_internal.hpp"

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

/// What a collective was called with.
struct Call {
  Collective collective{};
  const std::byte* send = nullptr;
  std::byte* recv = nullptr;
  std::size_t count = 0;
  DataType type{};
  ReduceOp op = ReduceOp::Sum;
};

/// What is left to do when the last message is in.
struct Ending {
  std::uint64_t begin = 0, end = 0;      ///< where this rank's result lies in the buffer, in bytes
  const std::byte* copy_from = nullptr;  ///< null: the result is in `recv` already
  bool finish = false;                   ///< whether this rank holds a reduced result
};

/// What a collective runs on: the input, and the buffer that it works in (they may be the same).
struct Buffers {
  const std::byte* input = nullptr;
  std::byte* data = nullptr;
};

/// One started collective: the execution, its memory, and its ending.
class Operation {
 public:
  Operation(std::shared_ptr<Engine> engine, std::shared_ptr<const LoadedProgram> program,
            const Call& call, std::uint64_t sequence);
  ~Operation();
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  /// Posts the first messages. Apart from the constructor, so that a failure finds a whole object.
  void start();
  bool test();
  void wait();

 private:
  /// Decides where to run: in recv, or where that cannot hold the whole vector in a work buffer.
  Buffers prepare();
  void complete();
  void release();

  std::shared_ptr<Engine> engine_;
  std::shared_ptr<const LoadedProgram> program_;
  Call call_;
  Ending ending_;
  ScratchPool::Block work_;
  std::unique_ptr<Execution> execution_;  ///< null when complete
};

}  // namespace multitree::runtime
