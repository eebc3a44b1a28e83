// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A collective through shared memory as the engine and the communicator hold it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "runtime/execution/operation_internal.hpp"
#include "runtime/host/operation_internal.hpp"
#include "runtime/messages/transport.hpp"

namespace multitree::runtime::host {

/// The engine drives it from enlist() on. `shown`: what the ranks compare, if that is another call.
class HostRequest final : public Operation {
 public:
  HostRequest(std::shared_ptr<Engine> engine, Group& group, const Call& call, Rank root,
              std::uint64_t sequence, Recorder* recorder,
              const std::optional<CommonCall>& shown = std::nullopt);
  ~HostRequest() override;

  void enlist();
  bool test() override;
  void wait() override;

 private:
  void wait_shortly();

  std::shared_ptr<Engine> engine_;
  HostOperation operation_;
  std::uint64_t sequence_;
  std::string_view collective_;
  bool enlisted_ = false;
  bool crowded_;  ///< more ranks than processors
};

}  // namespace multitree::runtime::host
