// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From a call to the program that its messages follow.
#pragma once

#include <memory>
#include <utility>

#include "runtime/execution/engine_internal.hpp"
#include "runtime/execution/programs_internal.hpp"

namespace multitree::runtime {

/// Checks calls and makes their programs: what messages from host memory and from devices have in
/// common.
class Planned {
 public:
  Planned(std::shared_ptr<Engine> engine, std::shared_ptr<Programs> programs,
          const CommunicatorOptions& options);

  /// \throws Error(InvalidArgument): no schedule for it or none with its root, as check_buffers();
  /// and if the communicator has failed.
  std::shared_ptr<const LoadedProgram> prepare(const Call& call) { return prepare(call, nullptr); }
  /// The same by another schedule than the predicted one, if that is not null.
  std::shared_ptr<const LoadedProgram> prepare(const Call& call, const Programs::Variant* variant);
  /// The same under the engine's guard.
  std::shared_ptr<const LoadedProgram> prepare_guarded(const Call& call,
                                                       const Programs::Variant* variant = nullptr);
  /// Whether there are schedules for it. \throws as prepare()
  [[nodiscard]] bool serves(const Call& call) const;
  /// The same by other schedules.
  [[nodiscard]] Planned with(std::shared_ptr<Programs> programs) const {
    Planned other = *this;
    other.programs_ = std::move(programs);
    return other;
  }
  /// Pieces of at most `segment_bytes` from now on.
  void cut_into(std::size_t segment_bytes) { cut_.segment_bytes = segment_bytes; }
  /// From now on what a rank sends to another in one round is one message, where schedules ask for
  /// it.
  void coalesce() { cut_.coalesce = true; }
  /// The root that a call has, or would have.
  [[nodiscard]] Rank root_of(const Call& call) const;
  [[nodiscard]] const Programs& programs() const { return *programs_; }
  [[nodiscard]] const std::shared_ptr<Engine>& engine() const { return engine_; }

 private:
  std::shared_ptr<Engine> engine_;
  std::shared_ptr<Programs> programs_;
  Programs::Cut cut_;
  Rank root_;
};

}  // namespace multitree::runtime
