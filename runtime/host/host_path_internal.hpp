// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Collectives through memory that all ranks of one host map.
#pragma once

#include <memory>
#include <optional>

#include "runtime/execution/engine_internal.hpp"
#include "runtime/execution/path_internal.hpp"
#include "runtime/execution/programs_internal.hpp"
#include "runtime/host/group_internal.hpp"
#include "runtime/host/host_request_internal.hpp"

namespace multitree::runtime::host {

/// Schedules are not used; only the roots that they name count where a call names none.
class HostPath final : public HostMemoryPath {
 public:
  HostPath(std::shared_ptr<Engine> engine, std::shared_ptr<Group> group,
           std::shared_ptr<const Programs> programs, const CommunicatorOptions& options);

  std::shared_ptr<const LoadedProgram> prepare(const Call& call) override;
  std::unique_ptr<Operation> start(const Call& call, std::shared_ptr<const LoadedProgram> program,
                                   std::uint64_t sequence) override;
  /// Without an allocation.
  void call(const Call& call, std::uint64_t& sequence) override;
  /// The same, if it is over soon: then null.
  std::unique_ptr<Operation> start_call(const Call& call, std::uint64_t& sequence) override;
  [[nodiscard]] std::string algorithm(Collective, std::uint64_t) const override { return "host"; }
  void barrier(std::uint64_t& sequence) override;
  void* allocate(std::size_t bytes) override;
  bool deallocate(void* memory) override { return group_->deallocate(memory); }
  [[nodiscard]] std::shared_ptr<const void> hold(const void* memory) const override {
    return group_->owner(memory);
  }
  std::unique_ptr<Operation> exchange(const ExchangeCall& call, Moves&& moves, std::uint32_t number,
                                      std::uint64_t sequence, bool attended) override;
  [[nodiscard]] bool sends_messages() const override { return false; }

 private:
  /// Under the guard. \throws Error
  void check(const Call& call);
  void finish(const Call& call, std::uint64_t sequence);
  std::unique_ptr<Operation> all_to_all(const ExchangeCall& call, std::uint64_t sequence,
                                        bool attended);
  /// `common`: what the ranks compare.
  std::unique_ptr<HostRequest> request_of(const Call& call, const CommonCall& common, Rank root,
                                          std::uint64_t sequence);
  std::unique_ptr<HostRequest> request_of(std::unique_ptr<Activity> operation,
                                          const CommonCall& common, std::uint64_t sequence);
  [[nodiscard]] Rank root_of(const Call& call) const override {
    return call.root ? *call.root : programs_->root_of(call.collective, root_);
  }

  std::shared_ptr<Engine> engine_;
  std::shared_ptr<Group> group_;
  std::shared_ptr<const Programs> programs_;
  std::shared_ptr<Recorder> recorder_;
  Rank root_;
  Deadline timeout_;
};

}  // namespace multitree::runtime::host
