// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Words for NCCL's log (NCCL_DEBUG).
#pragma once

#include "runtime/nccl/abi_internal.hpp"

namespace multitree::nccl {

void set_logger(Logger log);
/// Says in NCCL's log what failed and, as far as it is known, why. \returns `result`
Result fail(Result result, const char* what, const char* why);

}  // namespace multitree::nccl
