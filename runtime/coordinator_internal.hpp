// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The meeting point of a job: a thread that keeps one control connection to every rank.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/wire_internal.hpp"

namespace multitree::runtime {

/// Accepts `ranks` ranks that know `token`, gathers their blobs, and tells everybody at once when a
/// connection ends without a goodbye. Whoever does not belong is refused and changes nothing.
class Coordinator {
 public:
  Coordinator(Socket listener, std::uint32_t ranks, std::string token);
  /// Says goodbye; gives the ranks a moment to have read everything.
  ~Coordinator();
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }

  /// From any thread: whoever started this rank saw it end. Of a rank that had come its connection
  /// tells as much; of one that had not, the others would wait in vain.
  void died(std::uint32_t rank, const std::string& how);

 private:
  class Server;
  std::uint16_t port_;
  std::unique_ptr<Server> server_;
};

}  // namespace multitree::runtime
