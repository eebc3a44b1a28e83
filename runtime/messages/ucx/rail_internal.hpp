// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A UCX context with its worker: one for each wire, and one for everything else.
#pragma once

#include <string>

#include "runtime/messages/network/devices_internal.hpp"
#include "runtime/messages/ucx/library_internal.hpp"

namespace multitree::runtime {

/// What UCX is told before it opens devices. What the user has set by UCX_* variables stays.
struct RailSettings {
  std::string device;  ///< the only one to use; empty: all
  bool slow = false;   ///< over TCP of up to 10 Gbit/s: no rendezvous, small socket buffers
  std::uint32_t send_buffer = kSocketBufferBytes;     ///< in bytes, where it is slow
  std::uint32_t receive_buffer = kSocketBufferBytes;  ///< the same
  bool wakeup = false;                                ///< can be waited for by file descriptor
  /// What not to use, as "^posix" in UCX_TLS; empty: use all.
  std::string without = {};
};

/// Open contexts and workers; moving it moves the ownership. Not closed by a destructor: see
/// Connections.
struct Rail {
  RailSettings settings;
  ucp_context_h context = nullptr;
  ucp_worker_h worker = nullptr;
  int event_fd = -1;  ///< the worker's own; -1 without wake-up
  /// A message of more than kCopiedBytes has left UCX when its send is complete, and the socket's
  /// buffer is as long as settings.send_buffer says: over TCP, where the user has not set anything
  /// of that.
  bool exact = false;
  bool cuda = false;  ///< UCX knows CUDA memory; without, such a pointer would crash it
  /// There is nothing to progress until the descriptor says so or something new is posted.
  bool armed = false;
};

/// Fills `rail`, which then needs close_rail() even if this throws. \throws Error(Transport) with
/// UCX's words.
void open_rail(Rail& rail, const RailSettings& settings);
/// \pre no endpoint is left
void close_rail(Rail& rail);

/// Up to here UCX copies a message over a slow network, before it tries to send it.
inline constexpr std::size_t kCopiedBytes = 1024;

/// What a peer needs to connect. \throws Error(Transport)
std::string address_of(const Rail& rail);

}  // namespace multitree::runtime
