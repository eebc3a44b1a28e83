// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Words for NCCL's log.
#include "runtime/nccl/log_internal.hpp"

#include <atomic>

namespace multitree::nccl {
namespace {

std::atomic<Logger> logger = nullptr;

}  // namespace

void set_logger(Logger log) { logger = log; }

Result fail(Result result, const char* what, const char* why) {
  if (const Logger log = logger) {
    log(kWarn, kLogNetwork, "multitree", 0, "NET/multitree: %s: %s", what, why);
  }
  return result;
}

}  // namespace multitree::nccl
