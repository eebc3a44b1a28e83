// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Collectives by messages between ranks, as their schedules say.
#pragma once

#include <memory>
#include <vector>

#include "runtime/execution/engine_internal.hpp"
#include "runtime/execution/path_internal.hpp"
#include "runtime/execution/programs_internal.hpp"
#include "runtime/execution/refiner_internal.hpp"
#include "runtime/host/mapping_internal.hpp"

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
  /// Pieces of at most `segment_bytes` from now on.
  void cut_into(std::size_t segment_bytes) { cut_.segment_bytes = segment_bytes; }
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

class MessagePath final : public HostMemoryPath {
 public:
  MessagePath(Planned planned, std::shared_ptr<Recorder> recorder,
              std::shared_ptr<const Refining> refining);

  std::shared_ptr<const LoadedProgram> prepare(const Call& call) override {
    return planned_.prepare(call);
  }
  std::unique_ptr<Operation> start(const Call& call, std::shared_ptr<const LoadedProgram> program,
                                   std::uint64_t sequence) override;
  /// Under one guard.
  void run(const Call& call, std::shared_ptr<const LoadedProgram> program,
           std::uint64_t sequence) override;
  /// With what is being refined, if anything is.
  void call(const Call& call, std::uint64_t& sequence) override;
  std::unique_ptr<Operation> start_call(const Call& call, std::uint64_t& sequence) override;
  [[nodiscard]] std::vector<Refined> refined() const override;
  [[nodiscard]] std::uint64_t own_calls_before(std::uint64_t sequence) const override;
  [[nodiscard]] std::string algorithm(Collective collective, std::uint64_t bytes) const override {
    return planned_.programs().algorithm(collective, bytes);
  }
  [[nodiscard]] Rank root_of(const Call& call) const override { return planned_.root_of(call); }
  void barrier(std::uint64_t& sequence) override;
  void* allocate(std::size_t bytes) override;
  bool deallocate(void* memory) override;
  [[nodiscard]] std::shared_ptr<const void> hold(const void* memory) const override;
  std::unique_ptr<Operation> agree_on(const CommonCall&, std::uint64_t) override { return nullptr; }
  [[nodiscard]] bool sends_messages() const override { return true; }

 private:
  Planned planned_;
  std::shared_ptr<Recorder> recorder_;
  std::unique_ptr<Refiner> refiner_;      ///< null: nothing is refined
  std::vector<std::uint64_t> own_calls_;  ///< numbers, ascending
  std::vector<std::shared_ptr<host::Mapping>> memory_;
};

}  // namespace multitree::runtime
