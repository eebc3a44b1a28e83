// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Asking the process manager that started us: PMIx and PMI-1. Only rank 0's address goes this way.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "runtime/job/links.hpp"

namespace multitree::runtime {

struct Exchanged {
  Seat seat{};
  std::uint32_t size = 1;
  std::string value;              ///< what rank 0 published
  std::shared_ptr<void> session;  ///< to be kept while the job runs
};

/// Collective. `publish` is called at rank 0 only. \throws Error(Transport), Error(Unsupported) if
/// this build has no PMIx.
Exchanged exchange_over_pmix(const std::function<std::string()>& publish,
                             std::chrono::milliseconds deadline);

/// The same over the connection that PMI_FD names. \throws Error(Transport), Error(Timeout).
Exchanged exchange_over_pmi1(int fd, Seat seat, std::uint32_t size,
                             const std::function<std::string()>& publish,
                             std::chrono::milliseconds deadline);

}  // namespace multitree::runtime
