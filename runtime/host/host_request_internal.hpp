// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A collective through shared memory as the engine and the communicator hold it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "runtime/execution/operation_internal.hpp"
#include "runtime/host/patience_internal.hpp"
#include "runtime/messages/transport.hpp"

namespace multitree::runtime::host {

/// What stands for the transport where nothing is sent.
std::unique_ptr<Transport> make_no_transport();

/// Drives an operation to its end: by itself for a while, then, or from enlist() on, by the engine.
/// Made, used and let go under the engine's guard.
class Attendance {
 public:
  Attendance(Engine& engine, Activity& operation, const CommonCall& call, std::uint64_t sequence,
             Patience& patience)
      : engine_(engine),
        operation_(operation),
        call_(call),
        sequence_(sequence),
        patience_(patience) {}
  /// Of an operation that was dropped the others need our part until the end.
  ~Attendance();
  Attendance(const Attendance&) = delete;
  Attendance& operator=(const Attendance&) = delete;

  void enlist();
  /// Whether it is over, after a little time.
  bool finish_shortly() { return advance_shortly(operation_, patience_); }
  void finish() {
    if (!finish_shortly()) see_through();
  }
  /// By the engine.
  void see_through();

 private:
  Engine& engine_;
  Activity& operation_;
  CommonCall call_;
  std::uint64_t sequence_;
  bool enlisted_ = false;
  Patience& patience_;
};

/// One that its caller does not wait for at once. Made under the engine's guard, and then no more.
class HostRequest final : public Operation {
 public:
  HostRequest(std::shared_ptr<Engine> engine, std::unique_ptr<Activity> operation,
              const CommonCall& call, std::uint64_t sequence, Patience& patience)
      : engine_(std::move(engine)),
        operation_(std::move(operation)),
        attendance_(std::in_place, *engine_, *operation_, call, sequence, patience) {
    attendance_->enlist();
  }
  ~HostRequest() override;

  /// Under the guard: gives it a little time.
  void finish_shortly() { attendance_->finish_shortly(); }
  bool test() override;
  void wait() override;

 private:
  std::shared_ptr<Engine> engine_;
  std::unique_ptr<Activity> operation_;
  std::optional<Attendance> attendance_;
};

}  // namespace multitree::runtime::host
