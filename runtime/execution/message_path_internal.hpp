// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Collectives by messages between ranks, as their schedules say.
#pragma once

#include <memory>
#include <vector>

#include "runtime/execution/path_internal.hpp"
#include "runtime/execution/planned_internal.hpp"
#include "runtime/execution/refiner_internal.hpp"
#include "runtime/execution/replanner_internal.hpp"
#include "runtime/host/mapping_internal.hpp"

namespace multitree::runtime {

class MessagePath final : public HostMemoryPath {
 public:
  MessagePath(Planned planned, std::shared_ptr<Recorder> recorder,
              std::shared_ptr<const Refining> refining, std::unique_ptr<Replanner> replanner);

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
  /// Of the latest call.
  [[nodiscard]] std::string algorithm(Collective collective, std::uint64_t bytes) const override;
  [[nodiscard]] Rank root_of(const Call& call) const override { return planned_.root_of(call); }
  void barrier(std::uint64_t& sequence) override;
  void* allocate(std::size_t bytes) override;
  bool deallocate(void* memory) override;
  [[nodiscard]] std::shared_ptr<const void> hold(const void* memory) const override;
  [[nodiscard]] bool sends_messages() const override { return true; }

 private:
  std::shared_ptr<const LoadedProgram> in_force(const Call& call,
                                                std::shared_ptr<const LoadedProgram> program,
                                                std::uint64_t sequence);
  /// \pre under the engine's guard
  std::unique_ptr<MessageOperation> begin(const Call& call,
                                          std::shared_ptr<const LoadedProgram> program,
                                          std::uint64_t sequence);
  /// Whether this call, which comes next, runs others than the communicator began with.
  [[nodiscard]] bool is_replanned(std::uint64_t sequence);

  Planned planned_;
  std::shared_ptr<Recorder> recorder_;
  std::unique_ptr<Replanner> replanner_;  ///< null: schedules stay
  std::unique_ptr<Refiner> refiner_;      ///< null: nothing is refined
  std::vector<std::uint64_t> own_calls_;  ///< numbers, ascending
  std::vector<std::shared_ptr<host::Mapping>> memory_;
};

}  // namespace multitree::runtime
