// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A collective through shared memory as the engine and the communicator hold it.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "runtime/execution/operation_internal.hpp"
#include "runtime/host/operation_internal.hpp"
#include "runtime/messages/transport.hpp"

namespace multitree::runtime::host {

/// What stands for the transport where nothing is sent.
std::unique_ptr<Transport> make_no_transport();

/// The engine drives it from enlist() on.
class HostRequest final : public Operation {
 public:
  HostRequest(std::shared_ptr<Engine> engine, Group& group, const Call& call, Rank root,
              std::uint64_t sequence, Recorder* recorder);
  ~HostRequest() override;

  /// Under the engine's guard, as finish().
  void enlist();
  bool test() override;
  void wait() override;
  void finish();

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
