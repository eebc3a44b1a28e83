// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How executions tell a Recorder what they do.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/execution/program_internal.hpp"
#include "runtime/execution/recorder.hpp"

namespace multitree::runtime {

/// The recorder if it is to be told now, else null.
inline Recorder* active(Recorder* recorder) {
  return recorder != nullptr && recorder->active() ? recorder : nullptr;
}

/// Notes of one execution by messages; tasks by their number.
class TaskRecording {
 public:
  TaskRecording(Recorder& recorder, const Program& program);

  void begin_send(std::uint32_t id);
  void finish(std::uint32_t id);
  void begin_applying(std::uint32_t id);
  void finish_applying(std::uint32_t id);

 private:
  [[nodiscard]] const LocalTransfer& transfer_of(std::uint32_t id) const;
  void add(std::uint32_t id, Event::Kind kind, std::int64_t begin, std::int64_t end);

  Recorder& recorder_;
  const Program& program_;
  std::vector<std::int64_t> begun_;  ///< by task; empty where only bytes are counted
};

/// One phase without messages, as long as this lives.
class PhaseRecording {
 public:
  PhaseRecording(Recorder* recorder, Event::Kind kind, std::uint64_t part, std::uint64_t bytes)
      : recorder_(recorder != nullptr && recorder->keeps_events() ? recorder : nullptr) {
    if (recorder_ == nullptr) return;
    event_.kind = kind;
    event_.segment = static_cast<std::uint32_t>(part);
    event_.bytes = bytes;
    event_.begin_ns = Recorder::now();
  }
  ~PhaseRecording() {
    if (recorder_ == nullptr) return;
    event_.end_ns = Recorder::now();
    recorder_->add(event_);
  }
  PhaseRecording(const PhaseRecording&) = delete;
  PhaseRecording& operator=(const PhaseRecording&) = delete;

 private:
  Recorder* recorder_;
  Event event_;
};

}  // namespace multitree::runtime
