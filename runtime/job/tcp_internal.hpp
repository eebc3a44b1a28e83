// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A rank's end of the control connection.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/job/bootstrap.hpp"
#include "runtime/job/coordinator_internal.hpp"
#include "runtime/job/line_internal.hpp"
#include "runtime/job/wire_internal.hpp"

namespace multitree::runtime {

inline constexpr const char* kWrongToken = "wrong token: this is the rendezvous of another job";
inline constexpr const char* kOtherVersion =
    "wrong version: another one of multitree listens there, and all ranks of a job need the same";

struct TcpOptions {
  Seat seat{};
  std::uint32_t size = 1;
  std::vector<Address> addresses;  ///< of the coordinator, tried in this order again and again
  std::string token;
  bool open = false;             ///< Bootstrap::is_open()
  std::string description;       ///< Bootstrap::describe()
  std::string coordinator_name;  ///< in messages: "rank 0 (coordinator)", "the launcher"
  Deadline deadline{60'000};
  Cancellation cancellation{};
  /// One of the ranks hosts the coordinator: should that rank be lost, the others meet elsewhere.
  bool hosted_by_rank = false;
  /// The rendezvous is for this host alone, and so is every door.
  bool on_this_host = false;
  // What a job shares with those that were parted from it:
  /// Of the rank that is the host; ends with the last bootstrap.
  std::shared_ptr<Coordinator> coordinator = nullptr;
  /// Kept as long as the bootstrap: the session with the process manager.
  std::shared_ptr<void> session = nullptr;
  std::shared_ptr<Trunks> trunks = std::make_shared<Trunks>();
  JobNumber job = kFirstJob;
  /// Of a part; null: it is none.
  std::shared_ptr<const Lineage> lineage = nullptr;
  /// As BootstrapOptions::failed_before; null once all have come.
  std::function<std::optional<std::string>()> failed_before = {};
};

/// Connects, and waits for all ranks. \throws Error(Timeout), Error(Transport),
/// Error(InvalidArgument) if the coordinator refuses.
std::shared_ptr<Bootstrap> join_over_tcp(TcpOptions options);

/// 128 random bits as text: tells this job's ranks from strangers.
std::string make_token();

}  // namespace multitree::runtime
