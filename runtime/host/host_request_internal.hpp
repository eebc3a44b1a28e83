// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A collective through shared memory as the engine and the communicator hold it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "runtime/execution/operation_internal.hpp"
#include "runtime/messages/transport.hpp"

namespace multitree::runtime::host {

/// What stands for the transport where nothing is sent.
std::unique_ptr<Transport> make_no_transport();

/// Drives an operation to its end: by itself for a while, then, or from enlist() on, by the engine.
/// Made, used and let go under the engine's guard.
class Attendance {
 public:
  /// `crowded`: more ranks than processors.
  Attendance(Engine& engine, Activity& operation, std::string_view name, std::uint64_t sequence,
             bool crowded)
      : engine_(engine),
        operation_(operation),
        name_(name),
        sequence_(sequence),
        crowded_(crowded) {}
  /// Of an operation that was dropped the others need our part until the end.
  ~Attendance();
  Attendance(const Attendance&) = delete;
  Attendance& operator=(const Attendance&) = delete;

  void enlist();
  void finish();

 private:
  void wait_shortly();

  Engine& engine_;
  Activity& operation_;
  std::string_view name_;
  std::uint64_t sequence_;
  bool enlisted_ = false;
  bool crowded_;
};

/// One that its caller does not wait for at once. Made under the engine's guard, and then no more.
class HostRequest final : public Operation {
 public:
  HostRequest(std::shared_ptr<Engine> engine, std::unique_ptr<Activity> operation,
              std::string_view name, std::uint64_t sequence, bool crowded)
      : engine_(std::move(engine)),
        operation_(std::move(operation)),
        attendance_(std::in_place, *engine_, *operation_, name, sequence, crowded) {
    attendance_->enlist();
  }
  ~HostRequest() override;

  bool test() override;
  void wait() override;

 private:
  std::shared_ptr<Engine> engine_;
  std::unique_ptr<Activity> operation_;
  std::optional<Attendance> attendance_;
};

}  // namespace multitree::runtime::host
